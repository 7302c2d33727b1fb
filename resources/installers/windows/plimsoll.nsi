; Plimsoll's installer for Windows: for one user, without an administrator.
; Defines come from resources/installers/windows.py: VERSION, VERSION4, TREE, ICON, OUT, SIZE_KIB.

Unicode true
ManifestDPIAware true
RequestExecutionLevel user
SetCompressor /SOLID lzma

!include MUI2.nsh
!include FileFunc.nsh
!include LogicLib.nsh

!define NAME "Plimsoll"
!define PROGID "Plimsoll.gguf"
!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\${NAME}"
; What marks a folder as one that this installer made and may clear.
!define MARK "plimsoll-install.txt"

Name "${NAME}"
OutFile "${OUT}"
InstallDir "$LOCALAPPDATA\Programs\${NAME}"
InstallDirRegKey HKCU "Software\${NAME}" "InstallDir"
BrandingText "${NAME} ${VERSION}"

VIProductVersion "${VERSION4}"
VIAddVersionKey "ProductName" "${NAME}"
VIAddVersionKey "FileDescription" "${NAME} installer"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "LegalCopyright" "MIT licence"

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_ABORTWARNING
!define MUI_FINISHPAGE_RUN "$INSTDIR\plimsoll-window.exe"
!define MUI_FINISHPAGE_RUN_TEXT "Start ${NAME}"

!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_COMPONENTS
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

; --- a running program holds its files: ask for it to be closed

!macro RefuseWhileRunning UN
Function ${UN}RefuseWhileRunning
  again:
  ${If} ${FileExists} "$INSTDIR\plimsoll-window.exe"
    ClearErrors
    FileOpen $0 "$INSTDIR\plimsoll-window.exe" a
    ${If} ${Errors}
      MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION \
        "${NAME} is running. Close it, then try again." /SD IDCANCEL IDRETRY again
      Abort "${NAME} is running."
    ${EndIf}
    FileClose $0
  ${EndIf}
FunctionEnd
!macroend
!insertmacro RefuseWhileRunning ""
!insertmacro RefuseWhileRunning "un."

; Files of an older version must not stay beside those of this one. Only a folder that bears our
; mark is cleared, and engine packs that the user added stay.
!macro ClearProgram
  ${If} ${FileExists} "$INSTDIR\${MARK}"
    RMDir /r "$INSTDIR\_internal"
    Delete "$INSTDIR\plimsoll.exe"
    Delete "$INSTDIR\plimsoll-window.exe"
  ${EndIf}
!macroend

Section "${NAME}" SectionProgram
  SectionIn RO
  Call RefuseWhileRunning
  !insertmacro ClearProgram
  SetOutPath "$INSTDIR"
  File /r "${TREE}\*"
  FileOpen $0 "$INSTDIR\${MARK}" w
  FileWrite $0 "${NAME} ${VERSION}$\r$\n"
  FileClose $0

  WriteUninstaller "$INSTDIR\uninstall.exe"
  WriteRegStr HKCU "Software\${NAME}" "InstallDir" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "${NAME}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\plimsoll-window.exe"
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" "EstimatedSize" ${SIZE_KIB}
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1

  CreateShortcut "$SMPROGRAMS\${NAME}.lnk" "$INSTDIR\plimsoll-window.exe"
SectionEnd

Section "Open GGUF files with ${NAME}" SectionFiles
  WriteRegStr HKCU "Software\Classes\${PROGID}" "" "GGUF model"
  WriteRegStr HKCU "Software\Classes\${PROGID}\DefaultIcon" "" "$INSTDIR\plimsoll-window.exe,0"
  WriteRegStr HKCU "Software\Classes\${PROGID}\shell\open\command" "" \
    '"$INSTDIR\plimsoll-window.exe" "%1"'
  ; Offered, not taken: another program that opens .gguf keeps doing so until the user chooses.
  WriteRegStr HKCU "Software\Classes\.gguf\OpenWithProgids" "${PROGID}" ""
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd

Section /o "Shortcut on the desktop" SectionDesktop
  CreateShortcut "$DESKTOP\${NAME}.lnk" "$INSTDIR\plimsoll-window.exe"
SectionEnd

!insertmacro MUI_FUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${SectionProgram} "The program and its engine."
  !insertmacro MUI_DESCRIPTION_TEXT ${SectionFiles} "Offer ${NAME} for model files in Explorer."
  !insertmacro MUI_DESCRIPTION_TEXT ${SectionDesktop} "An icon on the desktop."
!insertmacro MUI_FUNCTION_DESCRIPTION_END

Section "un.${NAME}" UnProgram
  SectionIn RO
  Call un.RefuseWhileRunning
  !insertmacro ClearProgram
  RMDir /r "$INSTDIR\engines"
  Delete "$INSTDIR\${MARK}"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\${NAME}.lnk"
  Delete "$DESKTOP\${NAME}.lnk"
  DeleteRegValue HKCU "Software\Classes\.gguf\OpenWithProgids" "${PROGID}"
  DeleteRegKey HKCU "Software\Classes\${PROGID}"
  DeleteRegKey HKCU "${UNINSTALL}"
  DeleteRegKey HKCU "Software\${NAME}"
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd

; Not chosen unless the user does, and never in a silent uninstallation.
Section /o "un.Delete chats and settings too" UnChats
  RMDir /r "$LOCALAPPDATA\${NAME}"
SectionEnd

!insertmacro MUI_UNFUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${UnProgram} "The program and its engine."
  !insertmacro MUI_DESCRIPTION_TEXT ${UnChats} "Chats, settings and models in the data folder. This can't be undone."
!insertmacro MUI_UNFUNCTION_DESCRIPTION_END
