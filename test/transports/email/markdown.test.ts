import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { renderMarkdown } from '../../../transports/email/outbound/markdown.ts'
import { inTime } from '../../fixtures/in-time.ts'

const textOf = (markdown: string) => renderMarkdown(markdown).text
/** As the autoresponder puts foreign words into its templates. */
const escaped = (words: string) => words.replaceAll(/[\\`*_[\]<>#|~]/g, '\\$&')

describe('the plain text of a mail that is written in markdown', () => {
  const cases: [what: string, markdown: string, text: string][] = [
    ['has no marks of emphasis', 'It is **on** *its* __way__, `now`.', 'It is on its way, now.'],
    ['has headings as lines', '# Parcel\n\nSent.\n\nSize\n----\nL', 'Parcel\n\nSent.\n\nSize\n\nL'],
    ['keeps line ends within a paragraph', 'Best,\nAnna', 'Best,\nAnna'],
    ['has links with their address', 'See [the list](https://x.org/l).', 'See the list (https://x.org/l).'],
    [
      'says an address once',
      '<https://x.org> https://y.org/?a=1&b=2 [https://z.org](https://z.org) [a@x.org](mailto:a@x.org)',
      'https://x.org https://y.org/?a=1&b=2 https://z.org a@x.org',
    ],
    ['has no address that the HTML does not lead to', '[x](javascript:alert(1))', 'x'],
    ['keeps lists', '- a\n- **b**\n\n1. c\n2. d\n   more', '- a\n- b\n\n 1. c\n 2. d\n    more'],
    ['keeps nested lists', '- a\n  - b\n- c', '- a\n  - b\n- c'],
    ['keeps tasks', '- [ ] open\n- [x] done', '- [ ] open\n- [x] done'],
    ['keeps quotes', '> He *said*:\n>\n> > no', '> He said:\n>\n> > no'],
    ['has code indented', 'Run:\n\n```sh\nnpm i\n  *x*\n```', 'Run:\n\n    npm i\n      *x*'],
    [
      'has tables with their columns in line',
      '| What | Price |\n|---|--:|\n| A **b** | 5 |\n| C | 10 |',
      'What  Price\nA b   5\nC     10',
    ],
    ['has characters in place of references', 'R&amp;D &copy; &lt;x&gt; `&amp;`', 'R&D © <x> &amp;'],
    ['has no HTML', 'a <b>b</b><br>c\n\n<div class="x">d</div>\n\n<script>e()</script>', 'a b\nc\n\nd'],
    ['keeps what only looks like HTML', 'Put <name> into <file>, a < b', 'Put <name> into <file>, a < b'],
    ['keeps what was struck visible as such', 'It is ~~10~~ 20', 'It is ~~10~~ 20'],
  ]
  for (const [what, markdown, text] of cases) {
    test(what, () => assert.equal(textOf(markdown), text))
  }

  test('has escaped words of a correspondent as they were written, and so has the HTML', () => {
    const words = 'O_Neil *Bob* [Ticket #12] <b> a|b ~~x~~ `c` \\ # &amp; R&D'
    const { text, html } = renderMarkdown(`Hello ${escaped(words)},\n\nabout **${escaped(words)}**.`)
    assert.equal(text, `Hello ${words.replace('&amp;', '&')},\n\nabout ${words.replace('&amp;', '&')}.`)
    assert.ok(
      html.includes('Hello O_Neil *Bob* [Ticket #12] &lt;b&gt; a|b ~~x~~ `c` \\ # &amp; R&amp;D'),
      html,
    )
  })
})

describe('a mail of hostile markdown', () => {
  test('becomes HTML without anything that could do harm', () => {
    const text =
      '- a\n\n<script>alert(1)</script>\n\n<img src="https://evil/x.png">\n\n[x](javascript:alert(1)) `c`'
    const { html } = renderMarkdown(text)
    assert.match(html, /<li>a<\/li>/)
    assert.doesNotMatch(html, /<script|<img|javascript:/)
  })

  test('is sent as it is where it nests deeper than can be followed', () => {
    for (const deep of [`${'> '.repeat(5000)}x`, `${'- '.repeat(5000)}x`]) {
      const { text, html } = renderMarkdown(deep)
      assert.equal(text, deep)
      assert.ok(html.includes('<pre'))
    }
    assert.ok(renderMarkdown(`${'<b>'.repeat(50_000)}`).html.includes('&lt;b&gt;'))
  })

  test('is sent as it is where it has more marks than can be paired, and not where it has many', () => {
    const marks = '_a*'.repeat(1500)
    assert.equal(renderMarkdown(marks).text, marks)
    for (const many of [`\`\`\`\n${'snake_case * 2\n'.repeat(300)}\`\`\``, '- a **b**\n'.repeat(300)]) {
      assert.match(renderMarkdown(many).html, /<code|<li/)
    }
  })

  // A longer text is sent as it is, so growth within this size cannot hold the daemon up.
  test('is rendered in little time where it is as long as may be', async () => {
    const size = 49_000
    const pieces = '[ _a* **a_ *a * ~~ <a- < <!-- ` & <br \\ | > ![ ]( #'.split(' ')
    for (const piece of [...pieces, ' ', '> ', '*a ', '<blockquote>'.padEnd(40, 'a')]) {
      for (const [before, after] of [
        ['', ''],
        ['a <b', 'c'],
      ] as const) {
        const { text } = await inTime(piece, 3000, () =>
          renderMarkdown(`${before}${piece.repeat(size / piece.length)}${after}`),
        )
        assert.ok(text.length < 2 * size, piece)
      }
    }
  })
})
