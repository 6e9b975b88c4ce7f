/** The gateway of an identity that counts on every gateway. */
export const ANY = '*'

/** Who sent a message, and where. */
export type Sent = {
  gateway: string
  from: {
    id?: string | undefined
    name?: string | undefined
    address?: string | undefined
    external?: boolean | undefined
  }
}

/**
 * The sender of a message as an identity. The same address is the same person on every gateway;
 * another id may belong to somebody else there.
 */
export function personOf(message: Sent): string {
  return everywhere(senderIdentity(message))
}

/** The sender of a message as an identity on its gateway, verified or not. */
export function senderIdentity({ gateway, from }: Sent): string {
  return `${gateway}:${from.external ? 'external:' : ''}${from.address ?? from.id}`
}

/** An identity on every gateway if it is an address, otherwise unchanged. */
export function everywhere(identity: string): string {
  return isNarrow(identity) ? `${ANY}:${partsOf(identity).name}` : identity
}

/** Whether an identity is an address on one gateway only. */
export function isNarrow(identity: string): boolean {
  const { gateway, name, isExternal } = partsOf(identity)
  return gateway !== ANY && !isExternal && name.includes('@')
}

/** An address that needs no gateway on the command line: then it is of every gateway. */
const ADDRESS = /^[^\s:*]+@[^\s:*]+$/

/** Whether a text without a gateway is taken for an address. */
export function isAddress(text: string): boolean {
  return ADDRESS.test(text)
}

/** An identity as it is typed: `*:ada@example.com` without the gateway, others unchanged. */
export function typedIdentity(identity: string): string {
  const { gateway, name, isExternal } = partsOf(identity)
  return gateway === ANY && !isExternal && isAddress(name) ? name : identity
}

/** Splits `slack:external:U024BE7LH` into its parts. */
export function partsOf(identity: string): { gateway: string; name: string; isExternal: boolean } {
  const end = identity.indexOf(':')
  const name = identity.slice(end + 1)
  return {
    gateway: identity.slice(0, Math.max(end, 0)),
    name: name.replace(/^external:/, ''),
    isExternal: name.startsWith('external:'),
  }
}

/** A name, an address or an identity for comparisons: addresses ignore case. */
export function comparable(name: string): string {
  return name.includes('@') ? name.toLowerCase() : name
}

/**
 * Whether a message is from a person with these identities. Case is ignored in addresses, as in
 * their count and erasure.
 */
export function isFrom({ gateway, from }: Sent, identities: readonly string[]): boolean {
  return identities.map(partsOf).some((wanted) => {
    const isHere = wanted.gateway === ANY || wanted.gateway === gateway
    if (!isHere || wanted.isExternal !== Boolean(from.external)) return false
    return [from.id, from.address].some((name) => name && comparable(name) === comparable(wanted.name))
  })
}
