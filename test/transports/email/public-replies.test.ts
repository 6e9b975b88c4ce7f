import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { REPLIES_NEEDED } from '../../../ops/system-packages.ts'
import { cleanText, htmlToText } from '../../../transports/email/inbound/readable-text.ts'
import { newPart } from '../../../transports/email/inbound/reply-text.ts'
import { crisp, discourse, type Fixture, planer } from './public-fixtures.ts'

/** Intended differences from the library. */
const INTENDED: Record<string, string> = {
  'discourse/forwarded_apple': 'forwarded text is kept',
  'discourse/forwarded_gmail': 'forwarded text is kept',
  'discourse/forwarded_message': 'forwarded text is kept with its headers',
  'discourse/spam_1': 'a mail that only quotes is kept completely',
  'discourse/embedded_email_7': 'marked lines are removed, also before other lines',
  'discourse/embedded_email_18': 'a mail that begins with an attribution is kept completely',
  'crisp/email_sent_from_my_not_signature': 'a sentence, as the name of the fixture says',
  'crisp/email_19': 'the signature names no device',
  'crisp/email_2_1': 'the library does not recognise the Outlook headers',
  'crisp/email_custom_quote_header': 'the library leaves the attribution',
  'crisp/email_with_regards': 'a farewell is part of the text',
  'planer/detects inline replies': 'marked lines are removed, and the answers between them are kept',
}

/** Known faults: the library is right, and Trivium keeps quoted text. */
const FAULTS: Record<string, string> = {
  'discourse/delimiters': 'lines of punctuation at the end are kept',
  'discourse/email_headers_4': 'headers without any address may be a list that a person wrote',
  'discourse/embedded_email_11': 'a time and a name alone may be a line of a log',
  'discourse/embedded_email_17': 'a mail that begins with an unmarked quote',
  'discourse/embedded_email_5':
    'a name, an address and a verb, without a date, may introduce words of a person',
  'discourse/signatures': 'a line that names no device is between the signatures',
  'crisp/email_15': 'text below the signature of a device may be the answer',
  'crisp/email_ios_outlook': 'a line below a question in the quote may be the answer',
  'crisp/email_unquoted_reply': 'an attribution without a time may be of a person',
  'planer/is not fooled into thinking a link ends a quotation':
    'one header alone may be what a person copied',
  'planer/is not fooled into thinking a link ends a quotation (2)':
    'a link between marked lines is not marked itself',
  'planer/is not fooled into thinking a link ends a quotation (3)':
    'a link between marked lines is not marked itself',
  'planer/is ok with the og message block starting with a date':
    'two headers alone may be what a person copied',
  'planer/html: does not miss a disclaimer after a blockquote':
    'a quote that nothing introduces may be of the sender',
}

/**
 * The number of fixtures of each library, and of those with exactly the expected text. White space
 * does not count.
 */
const FAMILIES = {
  discourse: { read: discourse, total: 64, exact: 52 },
  crisp: { read: crisp, total: 54, exact: 46 },
  planer: { read: planer, total: 49, exact: 43 },
}

describe('the new part of replies in the tests of public libraries', () => {
  for (const [family, { read, total, exact }] of Object.entries(FAMILIES)) {
    const fixtures = read()
    const skip = fixtures.length === 0 ? REPLIES_NEEDED : false
    test(`${family}: is as expected, except for listed differences`, { skip }, () => {
      const differing = fixtures.filter((each) => squeezed(partOf(each)) !== expectedOf(each))
      const names = differing.map(({ name }) => `${family}/${name}`)
      assert.deepEqual(
        names.filter((name) => !(name in INTENDED || name in FAULTS)),
        [],
      )
      const right = fixtures.length - names.filter((name) => name in FAULTS).length
      assert.ok(right / fixtures.length >= 0.8, `${right} of ${fixtures.length}`)
      // The package of Debian may have fewer fixtures.
      if (fixtures.length === total) assert.equal(total - names.length, exact)
    })

    test(`${family}: has all words of the sender`, { skip }, () => {
      const losing = fixtures.filter((each) => {
        return !(`${family}/${each.name}` in INTENDED) && !hasWords(squeezed(partOf(each)), expectedOf(each))
      })
      assert.deepEqual(
        losing.map(({ name }) => name),
        [],
      )
    })
  }
})

function partOf({ input, isHtml }: Fixture): string {
  return newPart(isHtml ? htmlToText(input) : cleanText(input), 'reply')
}

function expectedOf({ isHtml, expected }: Fixture): string {
  return squeezed(isHtml ? htmlToText(expected) : expected)
}

function squeezed(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** Whether a text has all words of another, in order. */
function hasWords(text: string, words: string): boolean {
  const rest = text.split(' ')
  return words.split(' ').every((word) => {
    const index = rest.indexOf(word)
    if (index >= 0) rest.splice(0, index + 1)
    return index >= 0
  })
}
