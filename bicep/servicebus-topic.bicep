metadata description = 'The topic of all events, and its publishers.'

param namespaceName string

@description('The topic in Config.json\'s format.')
param topic object
param messageTimeToLive string
param duplicateWindow string
param principals array

var roles = loadJsonContent('../infra/roles.json')

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' existing = {
  name: namespaceName
}

resource entity 'Microsoft.ServiceBus/namespaces/topics@2024-01-01' = {
  parent: namespace
  name: topic.Name
  properties: {
    defaultMessageTimeToLive: messageTimeToLive
    duplicateDetectionHistoryTimeWindow: duplicateWindow
    requiresDuplicateDetection: topic.Properties.?RequiresDuplicateDetection ?? false
  }
}

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
