import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { freshText } from '../../../transports/email/inbound/fresh-text.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { inProportion } from '../../fixtures/in-time.ts'

const HEADERS =
  '<b>From:</b> Bob &lt;bob@example.org&gt;<br><b>Sent:</b> Monday, March 2, 2026 10:00 AM<br><b>To:</b> Anna<br><b>Subject:</b> x'
/** Headers in a language that Trivium does not know. */
const UNKNOWN_HEADERS = '<b>Ó:</b> Bob<br><b>Seolta:</b> Dé Luain<br><b>Chuig:</b> Anna<br><b>Ábhar:</b> x'
const OLD = '<p>The order is on its way.</p><p>It comes tomorrow.</p>'

/** The HTML of a quote in each client, introduced in an unknown language. */
const CLIENTS: Record<string, string> = {
  'Outlook on the web': `<div id="appendonsend"></div><hr><div id="divRplyFwdMsg">${UNKNOWN_HEADERS}</div>${OLD}`,
  'Outlook on the web, forwarded once': `<div id="x_divRplyFwdMsg">${UNKNOWN_HEADERS}</div>${OLD}`,
  'Outlook for Windows': `<div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0cm 0cm 0cm"><p>${UNKNOWN_HEADERS}</p></div>${OLD}`,
  'Outlook for Mac': `<span id="OLK_SRC_BODY_SECTION">${UNKNOWN_HEADERS}${OLD}</span>`,
  'Outlook for iOS': `<div id="mail-editor-reference-message-container">${UNKNOWN_HEADERS}${OLD}</div>`,
  Yahoo: `<div id="yahoo_quoted_1" class="yahoo_quoted"><div>Bob, Dé Luain</div>${OLD}</div>`,
  Proton: `<div class="protonmail_quote">Bob, Dé Luain<br>${OLD}</div>`,
  Gmail: `<div class="gmail_quote"><div dir="ltr" class="gmail_attr">Bob, Dé Luain</div><blockquote class="gmail_quote">${OLD}</blockquote></div>`,
  Thunderbird: `<div class="moz-cite-prefix">Bob, Dé Luain</div><blockquote type="cite">${OLD}</blockquote>`,
}

describe('the new text of a reply in HTML', () => {
  for (const [client, quote] of Object.entries(CLIENTS)) {
    test(`ends before the quote of ${client} in any language`, async () => {
      assert.equal(await read(`<p>Yes, please.</p>${quote}`), 'Yes, please.')
    })
  }

  test('includes the quote if it has answers in a colour', async () => {
    for (const style of ['color:red', 'color:#C00000', 'color: rgb(0, 112, 192)', 'background:yellow']) {
      for (const start of ['<div id="divRplyFwdMsg">', '<div style="border-top:solid #B5C4DF 1.0pt">']) {
        const answer = `<p>It is late. <span style="${style}">That is fine.</span></p>`
        const body = `<p>Thanks, Bob.</p>${start}${HEADERS}</div><p>Hi Anna,</p>${answer}<p>Regards</p><p>Bob</p>`
        assert.match(await read(body), /That is fine/, style)
        const plain =
          'Thanks, Bob.\n\nFrom: Bob <bob@example.org>\nSent: Monday 10:00\nTo: Anna\nSubject: x\n\nIt is late. That is fine.\n'
        assert.match(await read(body, plain), /That is fine/, style)
      }
    }
    const gmail = `<div class="gmail_quote"><div class="gmail_attr">On Mon, Mar 2, 2026 at 10:00 AM Bob &lt;bob@example.org&gt; wrote:</div><blockquote class="gmail_quote">It is late. <font color="#ff0000">That is fine.</font></blockquote></div>`
    assert.match(await read(`<p>Thanks, Bob.</p>${gmail}`), /That is fine/)
  })

  test('ends before a quote in which only links, grey text and the signature have a colour', async () => {
    for (const quote of [
      '<p>See <a href="https://example.org" style="color:#0563C1"><span style="color:#0563C1">here</span></a></p>',
      '<p style="color:#666666">It is late.</p><p style="color:black">Yes</p>',
      '<p style="color:#1F497D">It is late.</p>',
      '<p>It is late.</p><p>Best regards</p><p style="color:#C00000">Bob, Example Ltd</p>',
    ]) {
      const body = `<p>Yes, please.</p><div id="divRplyFwdMsg">${HEADERS}</div>${quote}`
      assert.equal(await read(body), 'Yes, please.', quote)
    }
  })

  test('keeps forwarded mails, and text between marked quotes', async () => {
    const forwarded = `<p>See this.</p><div class="gmail_quote"><div class="gmail_attr">---------- Forwarded message ---------<br>From: Bob &lt;bob@example.org&gt;<br>Date: Mon, Mar 2, 2026<br>Subject: x<br>To: Anna</div>${OLD}</div>`
    assert.match(await read(forwarded), /comes tomorrow/)
    const between = `<div class="moz-cite-prefix">Bob, Dé Luain</div><blockquote type="cite">Which size?</blockquote><p>XL</p><blockquote type="cite">And?</blockquote><p>Red</p>`
    assert.match(await read(between), /XL[\s\S]*Red/)
  })

  test('takes time in proportion to the length of the HTML', async () => {
    for (const piece of [
      '<',
      '<a',
      '<div id="divRplyFwdMsg">',
      '<p style="color:red">',
      '<!--',
      '</p>',
      '<a style="',
      'x<br>',
    ]) {
      const head = `<p>Yes.</p><div id="divRplyFwdMsg">${HEADERS}</div>`
      await inProportion(piece, 200_000, (size) => read(`${head}${piece.repeat(size / piece.length)}`))
    }
  })
})

async function read(html: string, plain?: string): Promise<string> {
  const head = 'From: Anna Ekman <anna@example.net>\nSubject: Re: x\nIn-Reply-To: <q@example.com>\n'
  const type = (kind: string) => `Content-Type: text/${kind}; charset=utf-8\n\n`
  const raw =
    plain === undefined
      ? `${head}${type('html')}${html}`
      : `${head}Content-Type: multipart/alternative; boundary=B\n\n--B\n${type('plain')}${plain}\n--B\n${type('html')}${html}\n--B--`
  return freshText(await parseMail(Buffer.from(raw)))
}
