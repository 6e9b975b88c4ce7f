import { TriviumError } from '../../../core/errors.ts'
import { EXAMPLES } from './clock.ts'
import { EDGE } from './moment.ts'
import type { Repetition } from './plan.ts'
import { tokensOf } from './reader.ts'
import { mayBegin, readRepeated } from './repeated.ts'

/** A time found in the text. `isTimed`: includes a time of day. `isOnce`: does not recur. */
export type Found = {
  start: number
  end: number
  plan: Repetition
  zone?: string
  isTimed: boolean
  isOnce: boolean
}

const TIME_OF_DAY =
  /\bat\s+(?:\d|noon|midnight|half|quarter)|\d\s*[ap]\.?m\b|\d[:.]\d\d|\b(?:noon|midnight)\b/i
export const hasTimeOfDay = (phrase: string) => TIME_OF_DAY.test(phrase)

/** Words after a time of day that add nothing to it. */
const CLOCK_WORDS = /^\s*,?\s*(?:sharp|exactly|precisely|on the dot|o[’']?clock|uhr|hrs|hours)(?![\w-])/i

/** Length of `sharp` or `o'clock` after a time of day. */
export function lengthOfClockWords(after: string): number {
  return CLOCK_WORDS.exec(after)?.[0].length ?? 0
}

// Below: words that `requireWhole` looks for beside a time.
const UNIT = '(?:minute|hour|day|week|month|year|fortnight|quarter|weekday|weekend)s?'
const DAY_OF_WEEK = '(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?s?'
const DAY_OR_MONTH = `(?:${DAY_OF_WEEK}|(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|apr|jun|jul|aug|sept?|oct|nov|dec)|mornings?|noon|afternoons?|evenings?|nights?|midnight|tonight|today|tomorrow)`
const RECURRING =
  '(?:every|each|once|twice|thrice|hourly|daily|nightly|weekly|biweekly|fortnightly|monthly|bimonthly|quarterly|yearly|annually|bi|semi|alternate|other)'
/** Words before a time that is not exact. */
const HEDGE = String.raw`(?:~|(?:around|about|approximately|approx|roughly|circa|ca|by)\b\.?)`
/** A number that can only be a time of day. */
const CLEAR_TIME = String.raw`(?:\d{1,2}(?:[:.]\d\d\b|\s*[ap]\.?m\b|\s*(?:h|uhr)\b)|noon|midnight)`
/** Exceptions that are not understood: `apart from sunday`, `skipping weekends`. */
const EXCEPTION = String.raw`(?:(?:apart|aside)\s+from|other\s+than|(?:minus|save|barring|bar|skip(?:ping)?|omit(?:ting)?|avoid(?:ing)?|ignor(?:e|ing))\s+(?:(?:for|on|the|all)\s+)*(?:(?:bank\s+|public\s+)?holidays?|${UNIT}|${DAY_OR_MONTH})(?![\w-]))`
/** Restrictions that are not understood: `only on weekdays`, `no later than 9`, `max 3 times`. */
const RESTRICTION = String.raw`(?:only|just|mostly|mainly|ideally|preferably|usually|normally|again|latest|earliest|late|early|straight|right|shortly|directly|immediately)\s+(?:(?:in\s+the|at|on|if|when|around|by|between|from|after|before)\s|\d|${DAY_OR_MONTH}(?![\w-]))|(?:no|not)\s+(?:later|earlier|before|after)\b|(?:at\s+)?(?:the\s+)?(?:latest|earliest)\s+at\b|(?:at\s+)?(?:max(?:imum)?|most|least|up\s+to)\s+\d|(?:two|three|four|five|six|\d+)\s+times\b|forever\b|indefinitely\b|as\s+well\s+as\b|(?:eod|eob|cob|eow|eom|eve|hence|lunch(?:time)?)(?![\w-])|(?:the\s+)?(?:end|start)\s+of\s+(?:the\s+)?(?:day|business)\b|(?:same|this)\s+time\b|in\s+(?:a|an|one|two|three|four|\d+)\s+${UNIT}(?![\w-])|some\s?time\b|upon\s|${DAY_OF_WEEK}\s*[-–—/]\s*${DAY_OF_WEEK}`
/** More of a number or word: `9a`, `9:00Z`, `9'30`. */
const TORN = /^(?:\p{L}|\d|[:;.,'’]\d|\.[a-z]\b)/iu
/** The minutes of `nine thirty`. */
const SPOKEN_MINUTES = /^\s+(?:ten|fifteen|twenty|thirty|forty|fifty)\b/i
/** Words after a time that belong to it. */
const BELONGS_AFTER = new RegExp(
  String.raw`^\s*[,(\[]?\s*(?:(?:until|till|til|since|except|excluding|but|for|from|also|plus|then|last|next|first|second|third|starting|starts|beginning|begins|ending|ends|through|thru|after|past|before|and|or|not|unless|if|when|whenever|while|during|between|times?|at|of|am|pm|ago|within|overnight|per|o'clock|est|edt|cst|cdt|mst|mdt|pst|pdt|cet|cest|bst|gmt|utc|ist|jst|${UNIT}|${DAY_OR_MONTH}|${RECURRING})(?![\w-])|(?:on|in)\s+(?:the\s+)?(?:\d|first|last|second|third|half|spring|summer|autumn|fall|winter|${UNIT}|${DAY_OR_MONTH})|the\s+(?:\d|first|last|second|third)|this\s+${UNIT}|${EXCEPTION}|${RESTRICTION}|as\s+of\s|(?:half\s+)?an?\s+(?:hour|minute|day|week)\s+(?:after|before)\b|to\s+\d|-?\s?ish\b|[\d/+&]|-\s*\d|${HEDGE}\s*(?:at\s+)?(?:\d|noon|mid)|(?:[-–—~;(\[@]\s*)+(?:at\s+)?${CLEAR_TIME})`,
  'i',
)
/** Words before a time that belong to it. */
const BELONGS_BEFORE = new RegExp(
  String.raw`(?:^|[\s-])(?:until|till|til|except|excluding|but|skip|skipping|minus|omit|omitting|barring|almost|nearly|most|least|early|late|latest|for|from|starting|beginning|ending|through|thru|after|before|by|since|and|or|not|unless|about|around|of|to|than|the|a|an|next|last|first|second|third|during|between|times|per|within|in|is|are|was|were|starts|begins|ends|bi|semi|\d+(?:st|nd|rd|th)?|${UNIT}|${DAY_OR_MONTH}|${RECURRING})[\s-]*$`,
  'i',
)
const ONE_PLACE = 'put the whole time in one place, or a colon after it'
const BEGINS_WITH_TIME_OF_DAY =
  /^\s*(?:at\s+(?:\d|noon|midnight|half|quarter)|noon|midnight|\d{1,2}(?::\d\d|\s*[ap]\.?m\b))/i
const ONLY_TIME_OF_DAY = /^(?:at\s+)?(?:\d[\d:.]*\s*(?:[ap]\.?m\.?)?|noon|midnight)$/i
const TIME_OF_DAY_AT_END = /\bat\s+(?:\d[\d:.]*\s*(?:[ap]\.?m\.?)?|noon|midnight)[\s.!?]*$/i
const DAY_AT_END = /\b(?:today|tomorrow|tonight|(?:on\s+|next\s+|this\s+)?\w+day)[\s.!?]*$/i
/** One more day in front of a time: `friday, saturday`. */
const DAY_AND_COMMA = new RegExp(String.raw`\b(?:${DAY_OF_WEEK}|today|tomorrow|tonight)\s*,\s*$`, 'i')
const TIME_OF_DAY_INSIDE = /\b(?:at\s+(?:\d|noon|midnight)|\d{1,2}(?::\d\d|\s*[ap]\.?m)\b)/i
const DAY_INSIDE = new RegExp(
  String.raw`\b(?:today|tomorrow|tonight|(?:on|this|next)\s+${DAY_OF_WEEK})\b`,
  'i',
)
const COLON_AND_TIME = new RegExp(String.raw`^\s*:\s+${CLEAR_TIME}`, 'i')
const BEGINS_RECURRING = new RegExp(`^\\s*${RECURRING}\\b`, 'i')

/**
 * Throws `usage` if something of the time was not understood and would become part of the task:
 * words beside the time, or more of the time at the other end of the text.
 */
export function requireWhole(text: string, { start, end, isTimed, isOnce }: Found): void {
  const before = text.slice(0, start)
  const after = text.slice(end)
  const phrase = text.slice(start, end).trim()
  if (start > 0) {
    // Punctuation separates the task from the time.
    if (/[:;–]\s*$/.test(before) || (/,\s*$/.test(before) && !DAY_AND_COMMA.test(before))) return
    if (BELONGS_BEFORE.test(before) || DAY_AND_COMMA.test(before))
      throw notUnderstood(`${/\S+\s*$/.exec(before)?.[0] ?? ''}${phrase}`)
    if (BEGINS_RECURRING.test(before)) throw notUnderstood(before.trim().split(/\s+/).slice(0, 3).join(' '))
    if (!isTimed && BEGINS_WITH_TIME_OF_DAY.test(before))
      throw notUnderstood(`${before.trim().split(/\s+/, 2).join(' ')} … ${phrase}`, ONE_PLACE)
    const other = isOnce && (DAY_INSIDE.exec(before) ?? (isTimed ? null : TIME_OF_DAY_INSIDE.exec(before)))
    if (other) throw notUnderstood(`${other[0]} … ${phrase}`, ONE_PLACE)
    const every = isOnce ? /\b(?:every|each)\s+\S.*$/is.exec(before) : null
    if (every) throw notUnderstood(`${every[0].trim()} ${phrase}`)
    return
  }
  // The phrase was cut too early: `every week` of `every week end`, `9` of `9a`, `at nine` of `at
  // nine thirty`.
  const isWeekEnd = !isTimed && /^[\s-]+end\b/i.test(after) && new RegExp(`\\b${UNIT}$`, 'i').test(phrase)
  const isCut =
    isWeekEnd || TORN.test(after) || (/\bat\s+[a-z]+$/i.test(phrase) && SPOKEN_MINUTES.test(after))
  if (isCut || (!isTimed && COLON_AND_TIME.test(after)))
    throw notUnderstood(`${phrase}${/^\s*\S+(?:\s+\S+)?/.exec(after)?.[0] ?? ''}`)
  if (/^\s*:/.test(after)) return
  requireNoZone(phrase, after, isTimed)
  const next = /^\s*,?\s*\S+(?:\s+\S+)?/.exec(after)?.[0] ?? ''
  if (BELONGS_AFTER.test(after)) throw notUnderstood(`${phrase}${next}`)
  const rest = tokensOf(after.slice(-EDGE))
  const clock = isTimed ? null : TIME_OF_DAY_AT_END.exec(after)
  const day = ONLY_TIME_OF_DAY.test(phrase) ? DAY_AT_END.exec(after) : null
  const other = clock?.[0] ?? day?.[0] ?? repeatedAtEnd(rest, after.slice(-EDGE))
  if (other) throw notUnderstood(`${phrase} … ${other.trim()}`, ONE_PLACE)
}

const ZONE_NAMES =
  '(?:[ECMP]T|[ECMPAN][SD]T|A[CEKW][SD]T|NZ[SD]T|[BHIJK]ST|[CEW]ES?T|MSK|TRT|GST|PKT|NPT|ICT|WIB|SGT|HKT|PHT|SAST|BRT)'
/** A time zone that is not understood, after a time: `9am ET`, `9am London time`. */
const ZONE_WORDS = new RegExp(
  String.raw`^\s*,?\s*\(?(?:${ZONE_NAMES}(?![\w-])|(?:in\s+)?(?:US\s+)?(?:(?:\p{Lu}[\p{L}.]+|local|my|our|your|their|eastern|central|mountain|pacific|server|system)\s+){1,2}(?:standard\s+|daylight\s+)?time(?!\w))`,
  'u',
)
/** Words that are a time zone only after a time of day: `9am in London`, `9am Pacific`. */
const ZONE_PLACE = /^\s*,?\s*\(?(?:in\s+\p{Lu}\p{L}+|(?:US\s+)?(?:Eastern|Central|Mountain|Pacific)(?!\w))/u

/**
 * Throws `usage` for a time zone that is not written as in the time zone database: it would become
 * part of the task.
 */
function requireNoZone(phrase: string, after: string, isTimed: boolean): void {
  const zone = zoneInWrongCase(after) ?? ZONE_WORDS.exec(after) ?? (isTimed ? ZONE_PLACE.exec(after) : null)
  if (zone) throw notUnderstood(`${phrase}${zone[0]}`, 'write a time zone as in Europe/Berlin')
}

/** The name of a time zone in the wrong case: `in europe/berlin`. */
function zoneInWrongCase(after: string): RegExpExecArray | undefined {
  const found = /^\s*,?\s*\(?(?:in\s+)?([a-z]+(?:\/[a-z_]+){1,2})(?![\w/])/i.exec(after)
  const isZone = found && attempt(() => new Intl.DateTimeFormat('en', { timeZone: found[1] })) !== undefined
  return isZone ? found : undefined
}

/** A recurring time at the end of a text. */
function repeatedAtEnd(tokens: ReturnType<typeof tokensOf>, text: string): string | undefined {
  const index = tokens.findIndex(
    ({ word }, at) => mayBegin(word) && attempt(() => readRepeated(tokens, at, text))?.end === tokens.length,
  )
  return index < 0 ? undefined : text.slice(tokens[index]?.start)
}

export function notUnderstood(phrase: string, why?: string): TriviumError {
  const words = phrase.replaceAll(/\s+/g, ' ').trim()
  const details = `I do not understand the time "${words}"${why ? ` (${why})` : ''}, so nothing is scheduled. Examples: ${EXAMPLES}. A colon separates the time from the task.`
  return new TriviumError('usage', { details })
}

/** The result of `read`. If it throws, adds the error to `errors`. */
export function attempt<T>(read: () => T, errors: unknown[] = []): T | undefined {
  try {
    return read()
  } catch (error) {
    errors.push(error)
    return undefined
  }
}
