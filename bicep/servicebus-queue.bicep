metadata description = 'A stage\'s queue and its permissions.'

param namespaceName string

@description('The queue in Config.json\'s format.')
param queue object
param messageTimeToLive string
param duplicateWindow string
param principals array

var roles = loadJsonContent('../infra/roles.json')
var receiverRole = roles['Azure Service Bus Data Receiver']

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' existing = {
  name: namespaceName
}

resource entity 'Microsoft.ServiceBus/namespaces/queues@2024-01-01' = {
  parent: namespace
  name: queue.Name
  properties: {
    deadLetteringOnMessageExpiration: queue.Properties.?DeadLetteringOnMessageExpiration ?? true
    defaultMessageTimeToLive: messageTimeToLive
    duplicateDetectionHistoryTimeWindow: duplicateWindow
    lockDuration: queue.Properties.?LockDuration ?? 'PT5M'
    maxDeliveryCount: queue.Properties.?MaxDeliveryCount ?? 10
    requiresDuplicateDetection: queue.Properties.?RequiresDuplicateDetection ?? false
    requiresSession: queue.Properties.?RequiresSession ?? false
  }
}

resource receivers 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in principals: {
    name: guid(entity.id, principal.id, receiverRole)
    scope: entity
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', receiverRole)
      principalId: principal.id
      principalType: principal.type
    }
  }
]

// A requeued dead letter goes directly to its stage, without the topic.
resource senders 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in principals: {
    name: guid(entity.id, principal.id, roles['Azure Service Bus Data Sender'])
    scope: entity
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Azure Service Bus Data Sender']
      )
      principalId: principal.id
      principalType: principal.type
    }
  }
]
