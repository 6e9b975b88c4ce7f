import {
  ANY,
  comparable,
  everywhere,
  isFrom,
  isNarrow,
  partsOf,
  personOf,
} from '../../lib/person-identity.ts'

export { ANY, comparable, everywhere, isFrom, isNarrow, partsOf, personOf }

/** `ada@example.com on every gateway`, `slack:U024BE7LH`. */
export function nameOf(identity) {
  const { gateway, name } = partsOf(identity)
  return gateway === ANY ? `${name} on every gateway` : identity
}
