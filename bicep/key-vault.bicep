metadata description = 'The vault for secrets. The app refers to it, and has no secret in its settings.'

param name string
param location string
param tags object

@description('The names of the settings with a secret.')
param names array

@description('The secrets, by setting name.')
@secure()
param secrets object

@description('Purge protection. It cannot be turned off, and a deleted vault keeps its name for the retention period.')
param purgeProtection bool

@description('The readers of each secret ({ secret, principal: { id, type } }): each app reads only its own secrets.')
param readers array
param endpointSubnetId string
param workspaceId string

var roles = loadJsonContent('../infra/roles.json')
var zones = loadJsonContent('../infra/private-zones.json')
var isPrivate = !empty(endpointSubnetId)

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: {
      family: 'A'
      name: 'standard'
    }
    enableRbacAuthorization: true
    enableSoftDelete: true
    softDeleteRetentionInDays: 7
    // Azure rejects false: the value is true or absent.
    enablePurgeProtection: purgeProtection ? true : null
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'AzureServices' // Azure Resource Manager writes the secrets
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
  }
}

resource secret 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = [
  for setting in names: {
    parent: vault
    name: replace(setting, '_', '-')
    properties: {
      // A list of webhooks is JSON in base64, because azd cannot pass on its quotes.
      value: setting != 'WEBHOOKS' ? secrets[setting] : base64ToString(secrets[setting])
      contentType: setting
    }
  }
]

resource reader 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for each in readers: {
    name: guid(vault.id, each.secret, each.principal.id, roles['Key Vault Secrets User'])
    scope: secret[indexOf(names, each.secret)]
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Key Vault Secrets User']
      )
      principalId: each.principal.id
      principalType: each.principal.type
    }
  }
]

module endpoint 'private-endpoint.bicep' = if (isPrivate) {
  name: 'key-vault-endpoint'
  params: {
    name: '${name}-endpoint'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    serviceId: vault.id
    group: 'vault'
    zoneName: zones.vault
  }
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: vault
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'AuditEvent'
        enabled: true
      }
    ]
  }
}
