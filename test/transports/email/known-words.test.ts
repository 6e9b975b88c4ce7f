import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fingerprintOf, hasOtherWords } from '../../../transports/email/inbound/known-words.ts'
import { newPart, readNewPart } from '../../../transports/email/inbound/reply-text.ts'

/** A mail of a bot. None of its questions is on a line of its own. */
const SENT = `Hello Anna,

thank you for your order. Before we send it we need three things from you.

- The size of the shirt, please see https://shop.example/sizes for a table.
- The colour that you prefer.
- The address to which we shall send it.

We will send it on the same day. Don't forget that we are closed on Monday.

Kind regards
The shop`

const sentPrint = fingerprintOf(SENT) ?? ''
const HEADERS = `From: Shop <shop@example.com>
Sent: Monday, March 2, 2026 10:00 AM
To: Anna Ekman <anna@example.net>
Subject: Your order`
const reply = (top: string, quote: string) => `${top}\n\n${HEADERS}\n\n${quote}`
const isKept = (quote: string) =>
  readNewPart(reply('Thanks.', quote), 'reply', undefined, sentPrint).quote === 'kept'

describe('words of the sender within an unmarked quote of a sent mail', () => {
  const answered: Record<string, string> = {
    'a word below a line': SENT.replace('prefer.\n', 'prefer.\nRed\n'),
    'a word at the end of a line': SENT.replace('that you prefer.', 'that you prefer. Blue'),
    'lines below several': SENT.replace('table.\n', 'table.\nXL\n').replace(
      'send it.\n',
      'send it.\nStreet 7, 12345 Town\n',
    ),
    'a sentence at the end': `${SENT}\n\nMonday is fine with me, I am away until then.`,
  }
  for (const [place, quote] of Object.entries(answered))
    test(`are found: ${place}`, () => assert.ok(isKept(quote)))
  const same: Record<string, string> = {
    unchanged: SENT,
    'with other line breaks, bullets and quotes': SENT.replaceAll('- ', '•\t')
      .replace("Don't", 'Don’t')
      .replace('need three', 'need\nthree')
      .replaceAll(/\n\n/g, '\n\n\n'),
    'with links in the format of Outlook': SENT.replace(
      'https://shop.example/sizes',
      'https://shop.example/sizes<https://safe.example/?u=1>',
    ),
    'with the banner of a mail server': `CAUTION: This email originated from outside of the organization.\n\n${SENT}`,
    truncated: SENT.slice(0, SENT.indexOf(' closed')),
    'with a disclaimer below it': `${SENT}\n\nThis message is confidential.\nIf you are not the one whom it is for, delete it.`,
    'of another mail':
      'We are glad to tell you that your parcel has left our house. It will be with you tomorrow.',
  }
  for (const [change, quote] of Object.entries(same))
    test(`are not found in a quote: ${change}`, () => {
      assert.equal(newPart(reply('Thanks.', quote), 'reply'), 'Thanks.')
      assert.deepEqual(readNewPart(reply('Thanks.', quote), 'reply', undefined, sentPrint), {
        text: 'Thanks.',
        quote: 'removed',
      })
    })

  test('are found in long texts by a small fingerprint', () => {
    const words = Array.from({ length: 5_000 }, (_, at) => `word${at}`)
    const print = fingerprintOf(words.join(' ')) ?? ''
    assert.ok(print.length < 4_000)
    assert.equal(hasOtherWords([words.slice(0, 1_400).join(' ')], print), false)
    assert.equal(
      hasOtherWords([words.slice(0, 700).join(' '), 'no', words.slice(700, 1_400).join(' ')], print),
      true,
    )
    assert.equal(fingerprintOf('Yes, thank you.'), undefined)
  })
})
