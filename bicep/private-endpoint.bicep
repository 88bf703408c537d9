metadata description = 'A private address for a service in the virtual network, with its DNS name.'

param name string
param location string
param tags object
param subnetId string
param serviceId string

@description('The subresource of the service: namespace, Sql, searchService, blob, queue, table or account.')
param group string
param zoneName string

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' existing = {
  name: zoneName
}

resource endpoint 'Microsoft.Network/privateEndpoints@2024-07-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    subnet: {
      id: subnetId
    }
    privateLinkServiceConnections: [
      {
        name: name
        properties: {
          privateLinkServiceId: serviceId
          groupIds: [
            group
          ]
        }
      }
    ]
  }
}

resource names 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-07-01' = {
  parent: endpoint
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: group
        properties: {
          privateDnsZoneId: zone.id
        }
      }
    ]
  }
}
