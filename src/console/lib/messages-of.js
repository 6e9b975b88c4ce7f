import { ANY, partsOf } from './person-identity.js'
import { quoted } from './suggest.js'

/** The search words for messages of an identity: a search takes one sender. */
export function searchOf(identity) {
  const { gateway, name } = partsOf(identity)
  return `${gateway === ANY ? '' : `gateway:${quoted(gateway)} `}from:${quoted(name)}`
}
