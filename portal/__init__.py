"""The shell that joins the rooms: settings, sign-in, pages that span topics, organisation files, demo, embedded services."""
