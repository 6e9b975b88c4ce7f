/** A gateway counts as refusing from this share of refused deliveries on. */
export const MANY_REFUSED = 0.2

/** From this number on, refusals are in the list of troubles for as long as they go on. */
const LISTED = 10

/** Whether a large share of the deliveries of the last hour was refused. */
export function refusedMany({ refused = 0, errorShare = 0 } = {}) {
  return refused > 0 && errorShare >= MANY_REFUSED
}

/**
 * Whether a gateway refuses deliveries now: by the list of troubles, or by their share if they are
 * few. The troubles are read later than the traffic: without an entry, it refuses until it has
 * accepted a delivery after the last refusal. `troubles`: undefined if unknown.
 */
export function refusesNow(name, traffic, troubles) {
  const own = troubles?.filter(({ code, where }) => code === 'refusals' && where.gateway === name)
  if (own === undefined || !refusedMany(traffic)) return refusedMany(traffic)
  if (own.length > 0) return own.some(({ severity }) => severity !== 'info')
  return traffic.refused < LISTED || !hasRecovered(traffic)
}

const isAny = (count) => count > 0

/** `minutes`: deliveries per minute, oldest first. */
function hasRecovered({ minutes: { accepted, refused } }) {
  return accepted.findLastIndex(isAny) > refused.findLastIndex(isAny)
}
