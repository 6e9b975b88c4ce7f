import { installPlace, packageVersion, testedVersions } from '../lib/packages.ts'
import { TriviumError } from './errors.ts'

/**
 * The optional parts: packages that most installations do not need. They are optional peer
 * dependencies, so npm does not install them by default.
 */
export const PARTS = {
  slack: {
    what: 'Slack gateways and Bolt apps',
    packages: ['@slack/bolt', '@slack/oauth', '@slack/web-api', 'amaro'],
  },
  model: {
    what: 'prompt skills and everything else that uses a model',
    packages: ['ai', '@ai-sdk/anthropic', '@ai-sdk/openai', '@ai-sdk/openai-compatible', '@ai-sdk/otel'],
  },
  mcp: {
    what: 'MCP: servers in routes.yaml, `trivium mcp`, and `/mcp` of the control API',
    packages: ['@modelcontextprotocol/client', '@modelcontextprotocol/node', '@modelcontextprotocol/server'],
  },
  queues: {
    what: 'BullMQ: routes with `queue`, bullmq gateways, and Bull Board',
    packages: ['bullmq', 'bullmq-otel', '@bull-board/api', '@bull-board/express'],
  },
  tracing: { what: 'traces over OpenTelemetry', packages: ['@opentelemetry/sdk-node'] },
} as const satisfies Record<string, { what: string; packages: readonly string[] }>

export type Part = keyof typeof PARTS

export const PART_NAMES: readonly Part[] = ['slack', 'model', 'mcp', 'queues', 'tracing']

/**
 * A package that is not installed in its tested version. `found`: the installed version, if any.
 */
export type UntestedPackage = { name: string; tested: string; found?: string }

/** The parts whose packages are all installed. */
const usable = new Set<Part>()

/** The packages of a part that are missing, or whose major version differs from the tested one. */
export function missingPackages(part: Part): UntestedPackage[] {
  if (usable.has(part)) return []
  const missing = untestedPackages(part).filter(({ tested, found }) => !found || !hasSameMajor(found, tested))
  if (missing.length === 0) usable.add(part)
  return missing
}

/**
 * The packages of a part that are missing, of another major version, or older than the tested
 * version.
 */
export function outdatedPackages(part: Part): UntestedPackage[] {
  return untestedPackages(part).filter(
    ({ tested, found }) => !found || !hasSameMajor(found, tested) || isOlder(found, tested),
  )
}

function untestedPackages(part: Part): UntestedPackage[] {
  const versions = testedVersions()
  return PARTS[part].packages.flatMap((name): UntestedPackage[] => {
    const [tested = '', found] = [versions[name], packageVersion(name)]
    return found === tested ? [] : [{ name, tested, ...(found === undefined ? {} : { found }) }]
  })
}

/**
 * Runs `load`, which imports packages of a part. Throws `part_missing` if they are not installed.
 */
export async function loadPart<T>(part: Part, load: () => Promise<T>): Promise<T> {
  if (missingPackages(part).length > 0) throw partMissing([part])
  return load()
}

/** Like `loadPart`, but resolves with undefined if the packages are not installed. */
export async function loadIfThere<T>(part: Part, load: () => Promise<T>): Promise<T | undefined> {
  return missingPackages(part).length > 0 ? undefined : load()
}

/**
 * The error for missing parts, with the command that installs them. `neededBy`: what needs them.
 */
export function partMissing(parts: readonly Part[], neededBy = ''): TriviumError {
  const missing = parts.filter((part) => missingPackages(part).length > 0)
  const installed = missing.flatMap(missingPackages).filter(({ found }) => found !== undefined)
  const mismatches = installed.map(
    ({ name, found, tested }) => `${name} ${found} is installed, but ${tested} is needed`,
  )
  const why = [neededBy && `needed by ${neededBy}`, ...mismatches].filter(Boolean).join('; ')
  return new TriviumError('part_missing', {
    names: missing.join(' '),
    partsAre:
      missing.length === 1
        ? `part ${missing[0]} is`
        : `parts ${new Intl.ListFormat('en').format(missing)} are`,
    why: why && ` (${why})`,
    command: installCommand(missing).join(' '),
    folder: installPlace().folder,
  })
}

/**
 * The command that installs the tested versions of these parts with the project's package manager.
 */
export function installCommand(parts: readonly Part[]): string[] {
  return [
    ...installPlace().command,
    ...parts.flatMap(outdatedPackages).map(({ name, tested }) => `${name}@${tested}`),
  ]
}

/** Major, minor and patch version. */
function numbersOf(version: string): number[] {
  return version.split(/[.+-]/).slice(0, 3).map(Number)
}

/** Before 1.0, the second number acts as the major version. */
function hasSameMajor(found: string, tested: string): boolean {
  const [major, minor] = numbersOf(found)
  const [testedMajor, testedMinor] = numbersOf(tested)
  return major === testedMajor && (testedMajor !== 0 || minor === testedMinor)
}

function isOlder(found: string, tested: string): boolean {
  const a = numbersOf(found)
  const b = numbersOf(tested)
  const place = [0, 1, 2].find((index) => a[index] !== b[index]) ?? 0
  return (a[place] ?? 0) < (b[place] ?? 0)
}
