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

/**
 * The sender of a message as an identity. The same address is the same person on every gateway;
 * another id may belong to somebody else there.
 */
export function personOf({ gateway, from }) {
  return everywhere(`${gateway}:${from.external ? 'external:' : ''}${from.address ?? from.id}`)
}

/** An identity on every gateway if it is an address, otherwise unchanged. */
export function everywhere(identity) {
  return isNarrow(identity) ? `${ANY}:${partsOf(identity).name}` : identity
}

/** Whether an identity is an address on one gateway only. */
export function isNarrow(identity) {
  const { gateway, name, isExternal } = partsOf(identity)
  return gateway !== ANY && !isExternal && name.includes('@')
}

/** `ada@example.com on every gateway`, `slack:U024BE7LH`. */
export function nameOf(identity) {
  const { gateway, name } = partsOf(identity)
  return gateway === ANY ? `${name} on every gateway` : identity
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

/** A name, an address or an identity for comparisons: addresses ignore case. */
export function comparable(name) {
  return name.includes('@') ? name.toLowerCase() : name
}
