import { catalogue } from '../../src/core/errors.ts'
import { code, table } from './markdown.ts'

/** The generated start of the section of a code: its heading, facts and message. */
const SECTION_START = /^### `(\w+)`\n\n(?:HTTP .*\n\n)?(?:> Message: .*\n\n)?/
const AREAS = /(?<=^## By area\n\n)[\s\S]*?(?=\n\n## )/m

/**
 * docs/errors.md with the parts that are known from the catalogue: the status, exit code, retry and
 * message of each code, and the table of areas. People write the rest of the page in place. Throws
 * if a code has no section, or a section no code.
 */
export function errorsPage(page: string): string {
  const sections = page.split(/^(?=##+ )/m).map((section) => {
    const [oldStart = '', name = ''] = SECTION_START.exec(section) ?? []
    return name === '' ? section : startOf(name) + section.slice(oldStart.length)
  })
  const missing = Object.keys(catalogue).filter((name) => !page.includes(`\n### ${code(name)}\n`))
  if (missing.length > 0) throw new Error(`docs/errors.md has no section for ${missing.join(', ')}`)
  return sections.join('').replace(AREAS, areaTable(sections))
}

/** The generated start of the section of a code, which `SECTION_START` matches. */
function startOf(name: string): string {
  const found = Object.entries(catalogue).find(([each]) => each === name)
  if (!found) throw new Error(`docs/errors.md has a section for ${name}, which is not in the catalogue`)
  const [, { status, exit, retryable, message }] = found
  const facts = `HTTP ${status} · exit code ${exit} · retry: ${retryable ? 'yes' : 'no'}`
  // A message that is only `{details}` says nothing here.
  const text = /^\{\w+\}$/.test(message) ? '' : `> Message: ${code(message)}\n\n`
  return `### ${code(name)}\n\n${facts}\n\n${text}`
}

/** A row for each heading of level 2 that has codes. */
function areaTable(sections: readonly string[]): string {
  const areas: { name: string; codes: string[] }[] = []
  for (const section of sections) {
    const [, level = '', heading = ''] = /^(##+) (.+)$/m.exec(section) ?? []
    if (level === '##') areas.push({ name: heading, codes: [] })
    const [, name] = SECTION_START.exec(section) ?? []
    if (name !== undefined) areas.at(-1)?.codes.push(`[${code(name)}](#${name})`)
  }
  const rows = areas.filter(({ codes }) => codes.length > 0)
  return table(
    ['area', 'codes'],
    rows.map(({ name, codes }) => [
      `[${name}](#${name.toLowerCase().replaceAll(' ', '-')})`,
      codes.join(', '),
    ]),
  )
}
