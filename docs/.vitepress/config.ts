import { copyFileSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import GithubSlugger from 'github-slugger'
import { defineConfig } from 'vitepress'
import { sidebar } from './sidebar.ts'

const root = join(import.meta.dirname, '..', '..')
/** Files beside docs/ that pages link to; the site serves copies of them. */
const REPOSITORY_FILE = /^(?:\.\.\/)+(ops\/[\w.-]+|[A-Z]+\.md)$/
const linked = new Set<string>()

export default defineConfig({
  title: 'Trivium',
  description:
    'A messaging daemon: email, Slack, WebSocket and webhooks in; dispatch, receive and events out.',
  cleanUrls: true,
  lastUpdated: false,
  ignoreDeadLinks: [(link) => link.startsWith('/files/')],
  themeConfig: {
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Reference', link: '/reference/routes-yaml' },
      { text: 'Operations', link: '/operating' },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
  },
  markdown: {
    html: false,
    // The anchors of GitHub, so that a link works in both places.
    anchor: { slugify: (heading) => new GithubSlugger().slug(heading) },
    config(md) {
      // Anchors of rows, which tables have no other syntax for. All other HTML is text.
      md.inline.ruler.before('autolink', 'row-anchor', (state, isSilent) => {
        const [anchor] = /^<a id="[\w-]+"><\/a>/.exec(state.src.slice(state.pos)) ?? []
        if (anchor === undefined) return false
        if (!isSilent) state.push('html_inline', '', 0).content = anchor
        state.pos += anchor.length
        return true
      })
      // A comment on a line of its own is not shown, as on GitHub.
      md.block.ruler.before('paragraph', 'comment', (state, line, _end, isSilent) => {
        if (!/^<!--.*-->$/.test(state.getLines(line, line + 1, 0, false).trim())) return false
        if (!isSilent) state.line = line + 1
        return true
      })
      const normalize = md.normalizeLink
      md.normalizeLink = (href) => {
        const [, file] = REPOSITORY_FILE.exec(href) ?? []
        if (file === undefined) return normalize(href)
        linked.add(file)
        return `/files/${basename(file)}`
      }
    },
  },
  buildEnd({ outDir }) {
    mkdirSync(join(outDir, 'files'), { recursive: true })
    for (const file of linked) copyFileSync(join(root, file), join(outDir, 'files', basename(file)))
  },
})
