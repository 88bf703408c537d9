"""The embedded default cloud: Service Bus, Cosmos DB, AI Search, Azurite and the Functions dev host.

It is development and test equipment: loopback only, and never part of what is deployed.
"""
