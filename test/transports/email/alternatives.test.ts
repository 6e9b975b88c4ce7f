import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseMail } from '../../../transports/email/inbound/parse.ts'

const part = (subtype: string, body: string) => `Content-Type: text/${subtype}\n\n${body}`
let boundaries = 0
const multipart = (subtype: string, ...parts: string[]) => {
  const boundary = `b${boundaries++}-`
  const body = parts.map((each) => `--${boundary}\n${each}\n`).join('')
  return `Content-Type: multipart/${subtype}; boundary="${boundary}"\n\n${body}--${boundary}--\n`
}

const HELLO = part('plain', 'Hello')
const HELLO_HTML = part('html', '<p>Hello</p>')

describe('alternatives', () => {
  const cases: [title: string, mail: string, text: string, html: string][] = [
    ['beside each other', multipart('alternative', HELLO, HELLO_HTML), 'Hello', '<p>Hello</p>'],
    [
      'one in another',
      multipart('alternative', HELLO, multipart('alternative', HELLO_HTML)),
      'Hello',
      '<p>Hello</p>',
    ],
    [
      'one in another, the inner with both formats',
      multipart('alternative', HELLO, multipart('alternative', HELLO, HELLO_HTML)),
      'Hello',
      '<p>Hello</p>',
    ],
    [
      'below a related part',
      multipart('alternative', HELLO, multipart('related', multipart('alternative', HELLO, HELLO_HTML))),
      'Hello',
      '<p>Hello</p>',
    ],
    [
      'that together are one alternative',
      multipart(
        'alternative',
        part('plain', 'One\nTwo'),
        multipart(
          'mixed',
          multipart('alternative', part('plain', 'One'), part('html', '<p>One</p>')),
          multipart('alternative', part('plain', 'Two'), part('html', '<p>Two</p>')),
        ),
      ),
      'One\nTwo',
      '<p>One</p>\n<p>Two</p>',
    ],
    [
      'one after another, which have different contents',
      multipart(
        'mixed',
        multipart('alternative', part('plain', 'One'), part('html', '<p>One</p>')),
        multipart('alternative', part('plain', 'Two'), part('html', '<p>Two</p>')),
      ),
      'One\n\nTwo',
      '<p>One</p>\n<p>Two</p>',
    ],
  ]
  for (const [title, mail, text, html] of cases)
    test(`${title} are read once`, async () => {
      const read = await parseMail(Buffer.from(`From: Ada <ada@example.net>\n${mail}`))
      assert.deepEqual([read.text.trim(), read.html?.trim(), read.parts], [text, html, []])
    })
})
