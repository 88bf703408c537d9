metadata description = 'A function app on Flex Consumption, with the plan and the storage account that are its own.'

param name string
param planName string
param storageName string
param location string
param tags object

@description('The name azd knows this service by in azure.yaml.')
param serviceName string

param identityId string
param identityClientId string
param identityPrincipalId string

@description('Where telemetry goes; the app reads its address from there.')
param componentName string

@description('The app\'s own settings: addresses and names, never keys.')
param settings object

@description('References into the vault, by the settings\' names.')
param vaultReferences object

@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int

@minValue(1)
@maxValue(1000)
param maximumInstanceCount int

@description('Requests that one instance answers at a time.')
@minValue(1)
@maxValue(1000)
param httpConcurrency int

@description('Functions whose instances never go cold: { name: \'function:<name>\' or \'http\', instanceCount }.')
param alwaysReady array

param appSubnetId string
param endpointSubnetId string
param workspaceId string

var roles = loadJsonContent('../infra/roles.json')
var zones = loadJsonContent('../infra/private-zones.json')
var isPrivate = !empty(endpointSubnetId)
var packages = 'app-package'

// What the host keeps in its storage: leases and keys in blobs, and the timers' and poison queues' state.
var hostRoles = [
  'Storage Blob Data Owner'
  'Storage Queue Data Contributor'
  'Storage Table Data Contributor'
]
var hostDoors = isPrivate ? ['blob', 'queue', 'table'] : []

var platformSettings = {
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
  APPLICATIONINSIGHTS_CONNECTION_STRING: component.properties.ConnectionString
  AZURE_CLIENT_ID: identityClientId
  AzureWebJobsDisableHomepage: 'true' // our own page is at /
  AzureWebJobsStorage__accountName: storage.name
  AzureWebJobsStorage__clientId: identityClientId
  AzureWebJobsStorage__credential: 'managedidentity'
  // The worker hands on the host's trace; the app sets up the exporter itself.
  PYTHON_ENABLE_OPENTELEMETRY: 'true'
  SERVICEBUS_CONNECTION__clientId: identityClientId
  SERVICEBUS_CONNECTION__credential: 'managedidentity'
}

resource component 'Microsoft.Insights/components@2020-02-02' existing = {
  name: componentName
}

resource storage 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: storageName
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: 'Standard_LRS'
  }
  properties: {
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: storage
  name: 'default'
}

resource packageContainer 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: packages
  properties: {
    publicAccess: 'None'
  }
}

resource hostAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in hostRoles: {
    name: guid(storage.id, identityPrincipalId, roles[role])
    scope: storage
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles[role])
      principalId: identityPrincipalId
      principalType: 'ServicePrincipal'
    }
  }
]

module endpoint 'private-endpoint.bicep' = [
  for door in hostDoors: {
    name: '${serviceName}-storage-${door}'
    params: {
      name: '${storageName}-${door}-endpoint'
      location: location
      tags: tags
      subnetId: endpointSubnetId
      serviceId: storage.id
      group: door
      zoneName: zones[door]
    }
  }
]

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
  }
}

resource app 'Microsoft.Web/sites@2024-11-01' = {
  name: name
  location: location
  tags: union(tags, {
    'azd-service-name': serviceName
  })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  // The host starts with what its identity may read: the roles come first.
  dependsOn: [
    hostAccess
    endpoint
  ]
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    keyVaultReferenceIdentity: identityId
    virtualNetworkSubnetId: empty(appSubnetId) ? null : appSubnetId
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${storage.properties.primaryEndpoints.blob}${packageContainer.name}'
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: {
        name: 'python'
        version: '3.11'
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReady
        triggers: {
          http: {
            perInstanceConcurrency: httpConcurrency
          }
        }
      }
    }
    siteConfig: {
      ftpsState: 'Disabled'
      http20Enabled: true
      minTlsVersion: '1.2'
    }
  }
}

// Settings are replaced as a whole: what is there is read first, so that what somebody added survives.
module appSettings 'app-settings.bicep' = {
  name: '${serviceName}-settings'
  params: {
    appName: app.name
    present: list('${app.id}/config/appsettings', '2024-11-01').properties
    settings: union(settings, platformSettings)
    vaultReferences: vaultReferences
  }
}

// Passwords for publishing stay off: azd deploys with the deployer's own token.
resource ftpPasswords 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
}

resource scmPasswords 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: app
  properties: {
    workspaceId: workspaceId
    metrics: [
      {
        category: 'AllMetrics'
        enabled: true
      }
    ]
  }
}

output id string = app.id
output name string = app.name
output uri string = 'https://${app.properties.defaultHostName}'
