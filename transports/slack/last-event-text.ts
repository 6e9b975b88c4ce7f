import { ageText } from '../../src/lib/age-text.ts'

/** When the last event came, for the detail of the health. `silence`: ms. */
export function lastEventText(hasEvent: boolean, silence: number): string {
  return hasEvent ? `last event ${ageText(silence)} ago` : 'no event since the start'
}
