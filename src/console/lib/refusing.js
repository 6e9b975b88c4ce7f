/** A gateway counts as refusing from this share of refused deliveries on. */
export const MANY_REFUSED = 0.2

/** From this number on, refusals are in the list of troubles for as long as they go on. */
const LISTED_FROM = 10

/** Whether a large share of the deliveries of the last hour was refused. */
export function refusedMany({ refused = 0, errorShare = 0 } = {}) {
  return refused > 0 && errorShare >= MANY_REFUSED
}

/**
 * Whether a gateway refuses deliveries now. With `changed` or `recovered` of the daemon, it does not. If the list
 * of troubles has its refusals, the list says so; few refusals count by their share. The list may
 * be older than `traffic`: without an entry, the gateway refuses until it accepts a delivery.
 * `troubles`: undefined if unknown.
 */
export function refusesNow({ name, changed, recovered }, traffic, troubles) {
  if (changed !== undefined || recovered !== undefined) return false
  const own = troubles?.filter(({ code, where }) => code === 'refusals' && where.gateway === name)
  if (own === undefined || !refusedMany(traffic)) return refusedMany(traffic)
  if (own.length > 0) return own.some(({ severity }) => severity !== 'info')
  return traffic.refused < LISTED_FROM || !hasRecovered(traffic)
}

/**
 * Whether a gateway that refuses deliveries now refuses all of them: since the refusals began, which
 * may be within the last hour, or of the last hour.
 */
export function refusesAll(name, { errorShare }, troubles = []) {
  const isOfAll = ({ code, where, title = '' }) =>
    code === 'refusals' && where.gateway === name && title.endsWith(' refuses every delivery')
  return errorShare === 1 || troubles.some(isOfAll)
}

/** The trouble of a gateway that refuses deliveries, if it is in the list of troubles. */
export function refusalsOf(name, troubles = []) {
  return troubles.find(
    ({ code, where, severity }) => code === 'refusals' && where.gateway === name && severity !== 'info',
  )
}

/** The trouble of a gateway whose workers have stopped, if it is in the list of troubles. */
export function unpulledOf(name, troubles = []) {
  return troubles.find(
    ({ code, where }) => code === 'backlog' && where.road === 'receive' && where.gateway === name,
  )
}

const isAny = (count) => count > 0

/** `minutes`: deliveries per minute, oldest first. */
function hasRecovered({ minutes: { accepted, refused } }) {
  return accepted.findLastIndex(isAny) > refused.findLastIndex(isAny)
}
