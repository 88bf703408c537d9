"""The operator's page: dead letters by cause, with a button to requeue a group, and stuck documents."""
