import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import GithubSlugger from 'github-slugger'
import { marked, type Token } from 'marked'
import { itemsOf, sidebar } from '../../docs/.vitepress/sidebar.ts'
import { committedPage, generatedPages } from '../../ops/docs/generated.ts'
import { REFUSAL_REASONS } from '../../ops/docs/label-values.ts'
import { catalogue } from '../../src/core/errors.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const pages = globSync('docs/**/*.md', { cwd: root, exclude: ['docs/.vitepress/**'] }).sort()
const texts = [...pages, ...globSync('*.md', { cwd: root })]

/** The pages of the reference, which take seconds to generate. */
const generated = generatedPages()

type Page = { anchors: Set<string>; links: string[] }

const parsed = new Map(texts.map((file) => [file, parse(readFileSync(join(root, file), 'utf8'))]))

describe('the docs', () => {
  test('the sidebar lists each page for users once', () => {
    const listed = itemsOf(sidebar).map(({ link }) => `docs${link}.md`)
    const forUsers = (file: string) => file !== 'docs/index.md' && !file.startsWith('docs/internals/')
    assert.deepEqual(listed.sort(), pages.filter(forUsers).sort())
  })

  test('each link has an existing file and heading as its target', () => {
    const broken = texts.flatMap((file) =>
      (parsed.get(file)?.links ?? []).flatMap((link) => (hasTarget(file, link) ? [] : [`${file}: ${link}`])),
    )
    assert.deepEqual(broken, [])
  })

  test('the generated pages are current', async () => {
    for (const [name, text] of Object.entries(await generated)) {
      assert.equal(committedPage(name), text, `run: npm run docs -- --pages (docs/${name})`)
    }
  })

  test('each key of routes.yaml has a description', async () => {
    const { 'reference/routes-yaml.md': page = '' } = await generated
    const rows = page.split('\n').filter((line) => line.startsWith('| `'))
    assert.deepEqual(
      rows.filter((row) => row.endsWith('| – |') || row.endsWith('|  |')),
      [],
    )
  })

  test('the reference has each reason of a refusal, and marks those that the alert ignores', () => {
    const known = REFUSAL_REASONS.map(({ reason }) => reason)
    const sources = globSync('{src,transports}/**/*.ts', { cwd: root })
      .map((file) => readFileSync(join(root, file), 'utf8'))
      .join('\n')
    const own = [...sources.matchAll(/\brefused?\((?:incoming, )?'([\w:]+)'/g)].map(
      ([, reason = '']) => reason,
    )
    assert.ok(own.includes('unknown_team') && own.includes('sender'))
    const missing = own.filter(
      (reason) => !(reason in catalogue) && !known.includes(reason) && !/^reply:/.test(reason),
    )
    assert.deepEqual(missing, [])
    const [, ignored = ''] =
      /reason!~"([^"]+)"/.exec(readFileSync(join(root, 'ops/alerts.yaml'), 'utf8')) ?? []
    const intended = REFUSAL_REASONS.filter(({ isIntended }) => isIntended).map(({ reason }) => reason)
    assert.deepEqual(ignored.replace('.*', '…').split('|').sort(), intended.sort())
  })

  test('the site builds', () => {
    const bin = join(root, 'node_modules', '.bin', 'vitepress')
    const { status, stderr } = spawnSync(bin, ['build', 'docs'], { cwd: root, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    assert.ok(existsSync(join(root, 'docs/.vitepress/dist/reference/routes-yaml.html')))
    assert.ok(existsSync(join(root, 'docs/.vitepress/dist/files/slack-manifest.yaml')))
    const providers = readFileSync(
      join(root, 'docs/.vitepress/dist/reference/webhook-providers.html'),
      'utf8',
    )
    assert.match(providers, /<a id="monday"><\/a>.*<h2 id="mondaycom"/s)
    assert.doesNotMatch(providers, /&lt;!--/, 'a comment is shown')
  })
})

/** The headings of a page as GitHub makes anchors of them, and its links to files and anchors. */
function parse(text: string): Page {
  const slugger = new GithubSlugger()
  const page: Page = { anchors: new Set(), links: [] }
  const visit = (token: Token) => {
    if (token.type === 'heading') page.anchors.add(slugger.slug(plain(token.tokens ?? [])))
    if (token.type === 'link') page.links.push(token.href)
    // An anchor in a table, or before a heading.
    const [, anchor] = token.type === 'html' ? (/^<a id="([^"]+)">/.exec(token.raw) ?? []) : []
    if (anchor !== undefined) page.anchors.add(anchor)
  }
  marked.walkTokens(marked.lexer(text.replace(/^---\n.*?\n---\n/s, '')), visit)
  page.links = page.links.filter((link) => !/^[a-z]+:/.test(link))
  return page
}

function plain(tokens: readonly Token[]): string {
  return tokens
    .map((token) =>
      'tokens' in token && token.tokens ? plain(token.tokens) : 'text' in token ? token.text : token.raw,
    )
    .join('')
}

function hasTarget(from: string, link: string): boolean {
  const [path = '', anchor] = decodeURI(link).split('#')
  const file = path === '' ? from : relative('.', normalize(join(dirname(from), path)))
  if (!existsSync(join(root, file))) return false
  return anchor === undefined || !parsed.has(file) || (parsed.get(file)?.anchors.has(anchor) ?? false)
}
