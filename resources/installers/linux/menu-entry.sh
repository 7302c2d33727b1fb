#!/bin/sh
# Puts Plimsoll into your menu and lets it open GGUF files; `./menu-entry.sh remove` takes it out.
# Run it where the program is to stay: the menu entry leads to this folder.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
data=${XDG_DATA_HOME:-$HOME/.local/share}

refresh() {
  if command -v update-desktop-database >/dev/null; then
    update-desktop-database "$data/applications" || true
  fi
  if command -v update-mime-database >/dev/null; then
    update-mime-database "$data/mime" 2>/dev/null || true
  fi
}

if [ "${1:-}" = remove ]; then
  (cd "$here/share" && find . -type f) | while read -r file; do rm -f "$data/$file"; done
  refresh
  echo "Removed. Chats and settings stay."
  exit 0
fi
(cd "$here/share" && find . -type f) | while read -r file; do
  mkdir -p "$data/$(dirname "$file")"
  cp "$here/share/$file" "$data/$file"
done
entry="$data/applications/plimsoll.desktop"
sed "s|^Exec=plimsoll|Exec=\"$here/plimsoll\"|" "$here/share/applications/plimsoll.desktop" >"$entry"
refresh
echo "Plimsoll is in your menu."
