import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { htmlToText, plain } from '../../../transports/email/inbound/readable-text.ts'
import { newPart } from '../../../transports/email/inbound/reply-text.ts'

/**
 * The fixtures of four public libraries that take replies apart, compared with what those libraries expect. They are not
 * part of this repository: REPLY_FIXTURES names a JSON file, `[{ family, name, input | html, expected }]`, in which
 * somebody collected them. Without it this file only checks its own lists.
 */
type Fixture = { family: string; name: string; input?: string; html?: string; expected: string }

/** Fixtures per family with the expected text, at least, and their number. White space does not count. */
const FLOORS: Record<string, { exact: number; of: number }> = {
  discourse: { exact: 52, of: 64 },
  zapier: { exact: 21, of: 24 },
  talon: { exact: 57, of: 64 },
  'talon-html': { exact: 9, of: 9 },
  crisp: { exact: 76, of: 90 },
}

/** Different from the library, and meant to be. */
const MEANT: Record<string, string> = {
  'discourse/forwarded_apple': 'what is forwarded stays',
  'discourse/forwarded_gmail': 'what is forwarded stays',
  'discourse/forwarded_message': 'what is forwarded stays, with its headers',
  'discourse/spam_1': 'a mail that only quotes is whole, not empty',
  'discourse/embedded_email_7': 'marked lines go, also where others follow',
  'discourse/embedded_email_18': 'a mail that begins with an attribution is whole',
  'zapier/email_1_1': 'a name behind a dash stays',
  'zapier/email_1_3': 'a name behind a dash stays',
  'zapier/email_sent_from_my_not_signature': 'a sentence, as the name of the fixture says',
  'crisp/email_sent_from_my_not_signature': 'a sentence, as the name of the fixture says',
  'talon/eml_iphone': 'the signature of the device goes',
  'talon/eml_sparrow': 'the signature goes',
  'talon/too_many_lines': 'the library is limited to one line there',
  'crisp/email_19': 'the signature names no device',
  'crisp/email_2_1': 'the library does not see the Outlook headers',
  'crisp/email_custom_quote_header': 'the library leaves the attribution',
  'crisp/email_thread': 'the library leaves the attribution',
  'crisp/email_tricky_11_double_signature': 'a farewell is part of the text',
  'crisp/email_tricky_2_url_with_wrote': 'a farewell is part of the text',
  'crisp/email_with_regards': 'a farewell is part of the text',
  'crisp/email_tricky_7_multiple_dashes': 'the library loses what is below a line of dashes',
}

/** Different, and the library is right: quoted text stays. No words of the sender are lost. */
const WRONG: Record<string, string> = {
  'discourse/delimiters': 'lines of signs at the end stay',
  'discourse/email_headers_4': 'headers without any address may be a list that a person wrote',
  'discourse/embedded_email_11': 'a time and a name alone may be a line of a log',
  'discourse/embedded_email_17': 'a mail that begins with an unmarked quote',
  'discourse/embedded_email_5':
    'a name, an address and a verb, without a date, may introduce what a person tells',
  'discourse/signatures': 'a line that names no device stands among the signatures',
  'talon/link_closed_with_quotation_marker_on_new_line': 'two headers alone may be what a person copied',
  'talon/from_block_starts_with_date': 'two headers alone may be what a person copied',
  'talon/link_breaks_quotation_markers_sequence': 'a link between marked lines is not marked itself',
  'talon/link_breaks_quotation_markers_sequence_2': 'a link between marked lines is not marked itself',
  'crisp/email_15': 'text below the signature of a device may be the answer',
  'crisp/email_german_3': 'text below the signature of a device may be the answer',
  'crisp/email_ios_outlook': 'a line below a question in the quote may be the answer',
  'crisp/email_tricky_19_quote_without_header': 'marked lines that nothing introduces may be of the sender',
  'crisp/email_unquoted_reply': 'an attribution without a time may be of a person',
}

const path = process.env.REPLY_FIXTURES
const fixtures: Fixture[] = path ? JSON.parse(await readFile(path, 'utf8')) : []

describe('public fixtures of replies', () => {
  test('have one reason each where the text differs', () => {
    for (const name of Object.keys(MEANT)) assert.equal(WRONG[name], undefined, name)
    for (const [family, { exact, of }] of Object.entries(FLOORS)) {
      const others = [...Object.keys(MEANT), ...Object.keys(WRONG)].filter((name) =>
        name.startsWith(`${family}/`),
      )
      assert.equal(exact + others.length, of, family)
    }
  })

  for (const [family, { exact }] of Object.entries(FLOORS)) {
    test(`${family}: at least ${exact} are exact, and each other has its reason`, { skip: !path }, () => {
      const differing = fixtures.filter((each) => each.family === family && !isExact(each))
      const names = differing.map(({ name }) => `${family}/${name}`)
      assert.deepEqual(
        names.filter((name) => !(name in MEANT) && !(name in WRONG)),
        [],
      )
      assert.ok(fixtures.filter((each) => each.family === family).length - names.length >= exact)
    })
  }
})

function isExact({ input, html = '', expected }: Fixture): boolean {
  const text = input === undefined ? htmlToText(html) : plain(input)
  return squeezed(newPart(text, 'reply')) === squeezed(expected)
}

function squeezed(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
