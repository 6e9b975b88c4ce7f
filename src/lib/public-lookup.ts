import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { isPrivateAddress } from './private-address.ts'

/**
 * Resolves names to public addresses alone, for connections to places that somebody else names: whoever looks at the name
 * before could be told another address afterwards. Node looks up no name that is an address.
 */
export const publicLookup: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    const [first, ...others] = error ? [] : found.filter(({ address }) => !isPrivateAddress(address))
    if (error) done(error, '')
    else if (!first)
      done(new Error(privateRefusal(`${hostname} (${found.map(({ address }) => address).join(', ')})`)), '')
    else if (options.all) done(null, [first, ...others])
    else done(null, first.address, first.family)
  })
}

export function privateRefusal(what: string): string {
  return `${what} is a private address; set \`allow-private: true\` if that is meant`
}
