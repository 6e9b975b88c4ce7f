import { ANY, comparable, everywhere, isNarrow, partsOf, personOf } from '../../lib/person-identity.ts'

export { ANY, comparable, everywhere, isNarrow, partsOf, personOf }

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

/** `ada@example.com on every gateway`, `slack:U024BE7LH`. */
export function nameOf(identity) {
  const { gateway, name } = partsOf(identity)
  return gateway === ANY ? `${name} on every gateway` : identity
}
