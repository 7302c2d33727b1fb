"""The planner's page: views that know no engine and no store."""
