metadata description = 'The virtual network of the app and of the private endpoints, with their DNS zones.'

param name string
param location string
param tags object

@description('The network\'s address space, which is divided into two subnets.')
param addressPrefix string

var zones = loadJsonContent('../infra/private-zones.json')

resource guard 'Microsoft.Network/networkSecurityGroups@2024-07-01' = {
  name: '${name}-endpoints'
  location: location
  tags: tags
  properties: {
    securityRules: [
      {
        name: 'deny-from-internet'
        properties: {
          priority: 4000
          direction: 'Inbound'
          access: 'Deny'
          protocol: '*'
          sourceAddressPrefix: 'Internet'
          sourcePortRange: '*'
          destinationAddressPrefix: '*'
          destinationPortRange: '*'
        }
      }
    ]
  }
}

resource network 'Microsoft.Network/virtualNetworks@2024-07-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [
        addressPrefix
      ]
    }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: cidrSubnet(addressPrefix, 24, 0)
          delegations: [
            {
              name: 'flex-consumption'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: cidrSubnet(addressPrefix, 24, 1)
          privateEndpointNetworkPolicies: 'NetworkSecurityGroupEnabled'
          networkSecurityGroup: {
            id: guard.id
          }
        }
      }
    ]
  }
}

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for entry in items(zones): {
    name: entry.value
    location: 'global'
    tags: tags
  }
]

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (entry, index) in items(zones): {
    parent: zone[index]
    name: '${name}-${entry.key}'
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: {
        id: network.id
      }
    }
  }
]

output appSubnetId string = '${network.id}/subnets/app'
output endpointSubnetId string = '${network.id}/subnets/endpoints'
