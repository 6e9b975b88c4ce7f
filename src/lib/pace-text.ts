import { ageText } from './age-text.ts'

/** `12 a second, about 8 s left`. `left`: what is still to do, without which no time is named. */
export function paceText(perSecond: number, left = 0): string {
  const shown = perSecond >= 10 ? Math.round(perSecond) : Number(perSecond.toPrecision(2))
  const time = left > 0 ? `, about ${ageText((left * 1_000) / perSecond)} left` : ''
  return `${shown.toLocaleString('en')} a second${time}`
}
