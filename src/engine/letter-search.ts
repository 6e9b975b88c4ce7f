import { eventOf, SEARCHED_LENGTH, wholeNumber } from '../core/message-query.ts'
import type { DeadLetter } from '../core/store.ts'
import { foldedTest } from '../lib/fold-text.ts'
import { lastOf, recipientOf, textOf } from './letter-groups.ts'

/** A word, or a text in quotation marks. */
const WORD = /"([^"]*)"|(\S+)/g

/**
 * Makes the test of a search in dead letters: each word, or text in quotes, is part of the last
 * error, or of the sender, conversation, subject, text or event of the message, or of the reply and
 * its recipient. It ignores case and accents. A number is not found in a longer one.
 */
export function letterSearch(search: string): (letter: DeadLetter) => boolean {
  const tests = [...search.matchAll(WORD)].map(([, quoted, word = '']) =>
    quoted === undefined && /^\d+$/.test(word) ? numberTest(word) : foldedTest(quoted ?? word),
  )
  return (letter) => {
    const texts = textsOf(letter)
    return tests.every((isIn) => texts.some(isIn))
  }
}

function numberTest(digits: string): (text: string | undefined) => boolean {
  const whole = wholeNumber(digits)
  return (text) => text !== undefined && whole.test(text)
}

function textsOf(letter: DeadLetter): (string | undefined)[] {
  const { id, message } = letter
  const own = [id, lastOf(letter).message, textOf(letter), recipientOf(letter)]
  if (!message) return own
  const { from, conversation, subject, text } = message
  const content = [subject, text.slice(0, SEARCHED_LENGTH), eventOf(message)]
  return [...own, ...content, conversation, from.id, from.name, from.address]
}
