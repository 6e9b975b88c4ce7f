/** The gateway of an identity that counts on every gateway. */
export const ANY = '*'

/**
 * Whether a message is from a person with these identities. Case is ignored in addresses, as in
 * their count and erasure.
 */
export function isFrom({ gateway, from }, identities) {
  return identities.map(partsOf).some((wanted) => {
    const isHere = wanted.gateway === ANY || wanted.gateway === gateway
    if (!isHere || wanted.isExternal !== Boolean(from.external)) return false
    return [from.id, from.address].some((name) => name && comparable(name) === comparable(wanted.name))
  })
}

/** Splits `slack:external:U024BE7LH` into its parts. */
export function partsOf(identity) {
  const end = identity.indexOf(':')
  const name = identity.slice(end + 1)
  return {
    gateway: identity.slice(0, Math.max(end, 0)),
    name: name.replace(/^external:/, ''),
    isExternal: name.startsWith('external:'),
  }
}

function comparable(name) {
  return name.includes('@') ? name.toLowerCase() : name
}
