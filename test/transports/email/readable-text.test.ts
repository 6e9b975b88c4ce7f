import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { htmlToText } from '../../../transports/email/inbound/readable-text.ts'
import { newPart } from '../../../transports/email/inbound/reply-text.ts'
import fc from '../../fixtures/fast-check.ts'
import { inProportion } from '../../fixtures/in-time.ts'

describe('the text of an HTML mail', () => {
  const cases: [title: string, html: string, text: string][] = [
    [
      'separates the cells of a table by tabs, and its rows by lines',
      '<table><tr><th>Item</th><th>Price</th></tr><tr><td>Cup</td><td>30</td></tr></table>after',
      'Item\tPrice\nCup\t30\nafter',
    ],
    [
      'has no gaps for the cells of a layout',
      '<table><tr><td></td><td><table><tr><td>Hello <b>you</b></td></tr></table></td><td> </td></tr></table>',
      'Hello you',
    ],
    ['keeps the case of headings', '<h1>Your password</h1><h2>aBcD</h2>', 'Your password\n\n\naBcD'],
    ['keeps the case of the head of a table', '<table><tr><th>aB</th></tr></table>', 'aB'],
    ['has an empty line for a horizontal rule', 'New<hr style="width:98%">old', 'New\n\nold'],
    ['has each definition on its own line', '<dl><dt>a</dt><dd>b</dd></dl>', 'a\nb'],
    ['keeps preformatted text', '<pre>a\t\tb\n  c</pre>', 'a\t\tb\n  c'],
    ['marks a quote', 'new<blockquote>old</blockquote>', 'new\n\n> old'],
    ['has the addresses of links', '<a href="https://x.org/t">late</a>', 'late [https://x.org/t]'],
  ]
  for (const [title, html, text] of cases) test(title, () => assert.equal(htmlToText(html).trim(), text))

  test('ends before the quote of Outlook, which follows a horizontal rule', () => {
    const html =
      '<div>New text</div><div id="appendonsend"></div><hr style="display:inline-block"><div id="divRplyFwdMsg"><b>From:</b> Support &lt;s@example.com&gt;<br><b>Sent:</b> Friday, November 20, 2026 12:00 PM<br><b>To:</b> Anna<br><b>Subject:</b> Re: x<div>&nbsp;</div></div><div>old</div>'
    assert.equal(newPart(htmlToText(html), 'reply'), 'New text')
  })

  test('is complete with styles, scripts, comments and images of any length', () => {
    const long = 'a{color:red}\n'.repeat(20_000)
    for (const hidden of [
      `<style>${long}</style>`,
      `<STYLE type="text/css">${long}</style >`,
      `<script>if (a < b) "<p>"; ${long}</script>`,
      `<!--[if mso]>${long}<![endif]-->`,
      `<img alt="" src="data:image/png;base64,${'A'.repeat(200_000)}">`,
    ]) {
      const text = htmlToText(`<html><body><p>Hello there</p>${hidden}<p>the end</p></body></html>`)
      assert.equal(text.trim(), 'Hello there\n\nthe end')
    }
  })

  test('has a note where the formatting ends because of length or depth', () => {
    const long = htmlToText(`<p>${'word '.repeat(50_000)}</p><b>the end of it</b>`)
    assert.match(long, /^word word/)
    assert.match(long, /word\n\n\(The rest has no formatting, .*\)\n.* the end of it/)
    const deep = htmlToText(`<style>p{}</style>${'<div>'.repeat(300)}d&eacute;ep`)
    assert.match(deep, /^…\n\n\(The rest .*\)\n\s*déep/)
    assert.doesNotMatch(htmlToText(`<p>${'word '.repeat(20_000)}</p>`), /What follows/)
  })

  test('includes text after the end of the body, as added by lists and mail gateways', () => {
    const html = '<html><head><title>T</title></head><body><p>one</p></body></html><p>two</p>'
    assert.equal(htmlToText(html).trim(), 'one\n\ntwo')
  })

  test('of hostile markup is made without an exception, in bounded time', async () => {
    const tags =
      '<|<style>|<!--|-->|<div>|</div>|<td>|<table>|<a href="| src="data:|&|\ue0f1|<style|</style|<script>| '
    const pieces = tags.split('|')
    for (const piece of pieces)
      await inProportion(piece, 128_000, (size) => htmlToText(piece.repeat(size / piece.length)))
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces, 'a', '>', '"'), { maxLength: 30 }), (some) => {
        assert.equal(typeof htmlToText(some.join('')), 'string')
      }),
    )
  })
})
