"""The settings of the app: `app.load_settings`."""
