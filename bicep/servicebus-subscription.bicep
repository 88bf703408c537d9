metadata description = 'A subscription that selects events by subject and forwards them to a stage\'s queue.'

param namespaceName string
param topicName string

@description('The subscription in Config.json\'s format.')
param subscription object
param messageTimeToLive string

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' existing = {
  name: namespaceName
}

resource topic 'Microsoft.ServiceBus/namespaces/topics@2024-01-01' existing = {
  parent: namespace
  name: topicName
}

resource entity 'Microsoft.ServiceBus/namespaces/topics/subscriptions@2024-01-01' = {
  parent: topic
  name: subscription.Name
  properties: {
    deadLetteringOnMessageExpiration: subscription.Properties.?DeadLetteringOnMessageExpiration ?? true
    // An event whose filter cannot be evaluated is kept for the operator, not dropped.
    deadLetteringOnFilterEvaluationExceptions: true
    defaultMessageTimeToLive: messageTimeToLive
    forwardTo: subscription.Properties.?ForwardTo
    lockDuration: subscription.Properties.?LockDuration ?? 'PT5M'
    maxDeliveryCount: subscription.Properties.?MaxDeliveryCount ?? 10
    requiresSession: subscription.Properties.?RequiresSession ?? false
  }
}

// The first rule replaces the default rule, which accepts everything.
@batchSize(1)
resource rules 'Microsoft.ServiceBus/namespaces/topics/subscriptions/rules@2024-01-01' = [
  for rule in subscription.Rules: {
    parent: entity
    name: rule.Name
    properties: {
      filterType: 'CorrelationFilter'
      correlationFilter: {
        label: rule.Properties.CorrelationFilter.Label
      }
    }
  }
]
