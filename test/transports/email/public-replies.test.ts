import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { REPLIES_NEEDED } from '../../../ops/system-packages.ts'
import { cleanText, htmlToText } from '../../../transports/email/inbound/readable-text.ts'
import { newPart } from '../../../transports/email/inbound/reply-text.ts'
import { crisp, discourse, type Fixture, planer } from './public-fixtures.ts'

/** Different from the library, and meant to be. */
const MEANT: Record<string, string> = {
  'discourse/forwarded_apple': 'what is forwarded stays',
  'discourse/forwarded_gmail': 'what is forwarded stays',
  'discourse/forwarded_message': 'what is forwarded stays, with its headers',
  'discourse/spam_1': 'a mail that only quotes is whole, not empty',
  'discourse/embedded_email_7': 'marked lines go, also where others follow',
  'discourse/embedded_email_18': 'a mail that begins with an attribution is whole',
  'crisp/email_sent_from_my_not_signature': 'a sentence, as the name of the fixture says',
  'crisp/email_19': 'the signature names no device',
  'crisp/email_2_1': 'the library does not see the Outlook headers',
  'crisp/email_custom_quote_header': 'the library leaves the attribution',
  'crisp/email_with_regards': 'a farewell is part of the text',
  'planer/detects inline replies': 'marked lines go, the answers between them stay',
}

/** Different, and the library is right: quoted text stays. */
const WRONG: Record<string, string> = {
  'discourse/delimiters': 'lines of signs at the end stay',
  'discourse/email_headers_4': 'headers without any address may be a list that a person wrote',
  'discourse/embedded_email_11': 'a time and a name alone may be a line of a log',
  'discourse/embedded_email_17': 'a mail that begins with an unmarked quote',
  'discourse/embedded_email_5':
    'a name, an address and a verb, without a date, may introduce what a person tells',
  'discourse/signatures': 'a line that names no device stands among the signatures',
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

/** Fixtures of each family, and how many of them have exactly the expected text. White space does not count. */
const FAMILIES = {
  discourse: { read: discourse, of: 64, exact: 52 },
  crisp: { read: crisp, of: 54, exact: 46 },
  planer: { read: planer, of: 49, exact: 43 },
}

describe('the new part of replies that public libraries test with', () => {
  for (const [family, { read, of, exact }] of Object.entries(FAMILIES)) {
    const fixtures = read()
    const skip = fixtures.length === 0 ? REPLIES_NEEDED : false
    test(`${family}: is as expected, or there is a reason`, { skip }, () => {
      const differing = fixtures.filter((each) => squeezed(partOf(each)) !== expectedOf(each))
      const names = differing.map(({ name }) => `${family}/${name}`)
      assert.deepEqual(
        names.filter((name) => !(name in MEANT || name in WRONG)),
        [],
      )
      const right = fixtures.length - names.filter((name) => name in WRONG).length
      assert.ok(right / fixtures.length >= 0.8, `${right} of ${fixtures.length}`)
      // Debian may have fewer of them.
      if (fixtures.length === of) assert.equal(of - names.length, exact)
    })

    test(`${family}: loses no words of the sender`, { skip }, () => {
      const losing = fixtures.filter((each) => {
        return !(`${family}/${each.name}` in MEANT) && !holds(squeezed(partOf(each)), expectedOf(each))
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

/** Whether a text has all words of another, in their order. */
function holds(text: string, words: string): boolean {
  const rest = text.split(' ')
  return words.split(' ').every((word) => {
    const at = rest.indexOf(word)
    if (at >= 0) rest.splice(0, at + 1)
    return at >= 0
  })
}
