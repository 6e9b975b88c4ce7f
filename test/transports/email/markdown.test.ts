import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { renderMarkdown } from '../../../transports/email/outbound/markdown.ts'
import { inTime } from '../../fixtures/in-time.ts'

const textOf = (markdown: string) => renderMarkdown(markdown).text
/** Escapes words of a correspondent, as the autoresponder does in its templates. */
const escaped = (words: string) => words.replaceAll(/[\\`*_[\]<>#|~]/g, '\\$&')

describe('the plain text of a markdown mail', () => {
  const cases: [title: string, markdown: string, text: string][] = [
    ['has no marks of emphasis', 'It is **on** *its* __way__, `now`.', 'It is on its way, now.'],
    ['has headings as lines', '# Parcel\n\nSent.\n\nSize\n----\nL', 'Parcel\n\nSent.\n\nSize\n\nL'],
    ['keeps line ends within a paragraph', 'Best,\nAnna', 'Best,\nAnna'],
    ['has links with their address', 'See [the list](https://x.org/l).', 'See the list (https://x.org/l).'],
    [
      'has each address once',
      '<https://x.org> https://y.org/?a=1&b=2 [https://z.org](https://z.org) [a@x.org](mailto:a@x.org)',
      'https://x.org https://y.org/?a=1&b=2 https://z.org a@x.org',
    ],
    ['has no address of an unsafe link', '[x](javascript:alert(1))', 'x'],
    ['keeps lists', '- a\n- **b**\n\n1. c\n2. d\n   more', '- a\n- b\n\n 1. c\n 2. d\n    more'],
    ['keeps nested lists', '- a\n  - b\n- c', '- a\n  - b\n- c'],
    ['keeps tasks', '- [ ] open\n- [x] done', '- [ ] open\n- [x] done'],
    ['keeps quotes', '> He *said*:\n>\n> > no', '> He said:\n>\n> > no'],
    ['has code indented', 'Run:\n\n```sh\nnpm i\n  *x*\n```', 'Run:\n\n    npm i\n      *x*'],
    [
      'has tables with aligned columns',
      '| What | Price |\n|---|--:|\n| A **b** | 5 |\n| C | 10 |',
      'What  Price\nA b   5\nC     10',
    ],
    ['has decoded character references', 'R&amp;D &copy; &lt;x&gt; `&amp;`', 'R&D © <x> &amp;'],
    ['has no HTML', 'a <b>b</b><br>c\n\n<div class="x">d</div>\n\n<script>e()</script>', 'a b\nc\n\nd'],
    ['keeps text that only resembles HTML', 'Put <name> into <file>, a < b', 'Put <name> into <file>, a < b'],
    ['keeps the marks of struck text', 'It is ~~10~~ 20', 'It is ~~10~~ 20'],
  ]
  for (const [title, markdown, text] of cases) {
    test(title, () => assert.equal(textOf(markdown), text))
  }

  test('has escaped words of a correspondent unchanged, like the HTML', () => {
    const words = 'O_Neil *Bob* [Ticket #12] <b> a|b ~~x~~ `c` \\ # &amp; R&D'
    const { text, html } = renderMarkdown(`Hello ${escaped(words)},\n\nabout **${escaped(words)}**.`)
    assert.equal(text, `Hello ${words.replace('&amp;', '&')},\n\nabout ${words.replace('&amp;', '&')}.`)
    assert.ok(
      html.includes('Hello O_Neil *Bob* [Ticket #12] &lt;b&gt; a|b ~~x~~ `c` \\ # &amp; R&amp;D'),
      html,
    )
  })
})

describe('hostile markdown', () => {
  test('becomes HTML without scripts, images and unsafe links', () => {
    const text =
      '- a\n\n<script>alert(1)</script>\n\n<img src="https://evil/x.png">\n\n[x](javascript:alert(1)) `c`'
    const { html } = renderMarkdown(text)
    assert.match(html, /<li>a<\/li>/)
    assert.doesNotMatch(html, /<script|<img|javascript:/)
  })

  test('is sent unformatted if it is nested too deeply', () => {
    for (const deep of [`${'> '.repeat(5000)}x`, `${'- '.repeat(5000)}x`]) {
      const { text, html } = renderMarkdown(deep)
      assert.equal(text, deep)
      assert.ok(html.includes('<pre'))
    }
    assert.ok(renderMarkdown(`${'<b>'.repeat(50_000)}`).html.includes('&lt;b&gt;'))
  })

  test('is sent unformatted if it has too many emphasis marks', () => {
    const marks = '_a*'.repeat(1500)
    assert.equal(renderMarkdown(marks).text, marks)
    for (const many of [`\`\`\`\n${'snake_case * 2\n'.repeat(300)}\`\`\``, '- a **b**\n'.repeat(300)]) {
      assert.match(renderMarkdown(many).html, /<code|<li/)
    }
  })

  // Longer texts are sent unformatted.
  test('of the maximum length is rendered in little time', async () => {
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
