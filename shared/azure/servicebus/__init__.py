"""Service Bus: `bus.Bus` sends and receives, and `dead_letter_mover` resends or archives dead letters."""
