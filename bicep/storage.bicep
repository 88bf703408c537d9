metadata description = 'The uploaded archives. Access is only by identity, without keys.'

param name string
param location string
param tags object

@description('ZRS keeps copies in three zones. LRS is for regions without zones.')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
])
param sku string

@description('A container for each kind of file.')
param containers array

@description('The container and folder of uploads before ingestion.')
param incomingPrefix string

@description('Uploads move to the cool tier after this number of days without a read.')
@minValue(1)
param coolAfterDays int

@description('The number of days in which a deleted or overwritten upload can be restored.')
@minValue(1)
@maxValue(365)
param restorableDays int

@description('Principals that read and write the blobs of a container ({ container, principal: { id, type } }).')
param writers array

@description('Principals that only read the blobs of a container ({ container, id }): an app\'s identity.')
param readers array
param endpointSubnetId string
param workspaceId string

@description('Log each read and write of a blob, not only each deletion.')
param logsAccess bool

@description('Sites whose pages may upload directly to the account, with addresses that the app signs. Empty for none.')
param uploadOrigins array

@description('The app that signs those addresses.')
param signerPrincipalId string

var roles = loadJsonContent('../infra/roles.json')
var zones = loadJsonContent('../infra/private-zones.json')
var isPrivate = !empty(endpointSubnetId)
var takesUploads = !empty(uploadOrigins)
var isClosed = isPrivate && !takesUploads // browsers are on the internet
var uploadRule = {
  allowedOrigins: uploadOrigins
  allowedMethods: [
    'PUT'
  ]
  allowedHeaders: [
    'content-type'
    'x-ms-*'
  ]
  exposedHeaders: []
  maxAgeInSeconds: 3600
}

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: isClosed ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: isClosed ? 'Deny' : 'Allow'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: account
  name: 'default'
  properties: {
    isVersioningEnabled: true
    cors: {
      corsRules: takesUploads ? [uploadRule] : []
    }
    deleteRetentionPolicy: {
      enabled: true
      days: restorableDays
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: restorableDays
    }
    lastAccessTimeTrackingPolicy: {
      enable: true
    }
  }
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = [
  for each in containers: {
    parent: blobs
    name: each
    properties: {
      publicAccess: 'None'
    }
  }
]

resource contributors 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for grant in writers: {
    name: guid(account.id, grant.container, grant.principal.id, roles['Storage Blob Data Contributor'])
    scope: container[indexOf(containers, grant.container)]
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Blob Data Contributor']
      )
      principalId: grant.principal.id
      principalType: grant.principal.type
    }
  }
]

resource viewers 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for grant in readers: {
    name: guid(account.id, grant.container, grant.id, roles['Storage Blob Data Reader'])
    scope: container[indexOf(containers, grant.container)]
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Blob Data Reader']
      )
      principalId: grant.id
      principalType: 'ServicePrincipal'
    }
  }
]

// Signing by identity requires a role on the whole account. A signature grants no more than its signer's rights.
resource delegator 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (takesUploads) {
  name: guid(account.id, signerPrincipalId, roles['Storage Blob Delegator'])
  scope: account
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Storage Blob Delegator'])
    principalId: signerPrincipalId
    principalType: 'ServicePrincipal'
  }
}

resource lifecycle 'Microsoft.Storage/storageAccounts/managementPolicies@2025-01-01' = {
  parent: account
  name: 'default'
  dependsOn: [
    blobs
  ]
  properties: {
    policy: {
      rules: [
        {
          name: 'forget-what-was-not-taken-in'
          enabled: true
          type: 'Lifecycle'
          definition: {
            filters: {
              blobTypes: [
                'blockBlob'
              ]
              prefixMatch: [
                incomingPrefix
              ]
            }
            actions: {
              baseBlob: {
                delete: {
                  daysAfterModificationGreaterThan: 7
                }
              }
            }
          }
        }
        {
          name: 'cool-when-unread'
          enabled: true
          type: 'Lifecycle'
          definition: {
            filters: {
              blobTypes: [
                'blockBlob'
              ]
            }
            actions: {
              baseBlob: {
                enableAutoTierToHotFromCool: true
                tierToCool: {
                  daysAfterLastAccessTimeGreaterThan: coolAfterDays
                }
              }
              version: {
                delete: {
                  daysAfterCreationGreaterThan: restorableDays
                }
              }
            }
          }
        }
      ]
    }
  }
}

module endpoint 'private-endpoint.bicep' = if (isPrivate) {
  name: 'storage-endpoint'
  params: {
    name: '${name}-endpoint'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    serviceId: account.id
    group: 'blob'
    zoneName: zones.blob
  }
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: blobs
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageRead'
        enabled: logsAccess
      }
      {
        category: 'StorageWrite'
        enabled: logsAccess
      }
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
  }
}

output blobEndpoint string = account.properties.primaryEndpoints.blob
