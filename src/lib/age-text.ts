const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/**
 * The units, each with the shortest duration (ms) that uses it. Below 2 d, `1 d` would hide too
 * much.
 */
const UNITS = [
  { unit: 'd', size: DAY, from: 2 * DAY },
  { unit: 'h', size: HOUR, from: 2 * HOUR },
  { unit: 'min', size: MINUTE, from: 2 * MINUTE },
] as const

/** Below this number of days, a tenth is shown: `2 d` and `3 d` could be one hour apart. */
const FEW_DAYS = 10

/**
 * A duration (ms) for people: `90 s`, `90 min`, `42 h`, `2.5 d`, `12 d`. Rounded, so at most
 * a quarter off. A duration without remainder uses the largest unit: an hour is `1 h`. The CLI and
 * the console share this rule.
 */
export function ageText(ms: number): string {
  return inUnits(ms, Math.round)
}

/**
 * How long ago something was, as `ageText`, but rounded down. Since people compare ages, those from
 * 2 h to a day have minutes: `2 h 50 min`.
 */
export function elapsedText(ms: number): string {
  const minutes = Math.floor(ms / MINUTE) % 60
  const hasMinutes = ms >= 2 * HOUR && ms < DAY && minutes > 0
  return hasMinutes ? `${Math.floor(ms / HOUR)} h ${minutes} min` : inUnits(ms, Math.floor)
}

function inUnits(ms: number, round: (value: number) => number): string {
  const usual = UNITS.find(({ from }) => ms >= from) ?? { unit: 's', size: SECOND }
  const exact = UNITS.find(({ size }) => size > usual.size && ms > 0 && ms % size === 0)
  const { unit, size } = exact ?? usual
  const exactly = Math.max(0, ms / size)
  const hasTenth = unit === 'd' && exactly < FEW_DAYS
  return `${hasTenth ? round(exactly * 10) / 10 : round(exactly)} ${unit}`
}
