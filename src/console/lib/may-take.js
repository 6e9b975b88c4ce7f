/** Whether a `match` does not exclude a gateway by its name or transport. */
export function mayTake({ match = {} }, { name, transport }) {
  return isAmong(match.gateway, name) && isAmong(match.transport, transport)
}

/** Whether a value is among patterns; without patterns, each is. Other forms are not examined. */
function isAmong(patterns, value) {
  if (patterns === undefined) return true
  return [patterns].flat().some((pattern) => !isExamined(pattern) || isLike(pattern, value))
}

/** Whether a pattern has no more than `*` and `?`: no regex, no sets, no alternatives. */
export function isExamined(pattern) {
  return typeof pattern === 'string' && !/^\/.*\/\w*$|[[\]{}\\]/s.test(pattern)
}

/** Whether a name matches a pattern with `*` and `?`. Case is ignored. */
function isLike(pattern, name = '') {
  const literal = pattern.replace(/[.+^$()|]/g, '\\$&')
  return new RegExp(`^${literal.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'i').test(name)
}
