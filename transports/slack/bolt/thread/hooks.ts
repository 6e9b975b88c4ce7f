import { createRequire, registerHooks } from 'node:module'
import { extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { attempt } from '../../../../src/lib/attempt.ts'
import { type createCompiler, createSourceResolver, jsonModule } from './typescript.ts'

const suffix = extname(import.meta.filename)
/** Replaces `@slack/bolt` for all modules of the app. */
const HOSTED = new URL(`./hosted${suffix}`, import.meta.url).href
const ownRequire = createRequire(HOSTED)
const ownUrlOf = (specifier: string) => pathToFileURL(ownRequire.resolve(specifier)).href

/** Packages that an app may import without installing them. */
const PROVIDED: Record<string, string> = {
  trivium: new URL(`../../../../src/public${suffix}`, import.meta.url).href,
  zod: import.meta.resolve('zod'),
}

const OWN_FOLDERS = [
  new URL('../../../../src/', import.meta.url).href,
  new URL('../../../', import.meta.url).href,
]

/** Whether a module belongs to the app: neither Trivium's nor an installed package. */
function isOfApp(url: string | undefined): url is string {
  return (
    url?.startsWith('file:') === true &&
    !url.includes('/node_modules/') &&
    !OWN_FOLDERS.some((folder) => url.startsWith(folder))
  )
}

/**
 * Registers the hooks that resolve and load the modules of the app's thread. `@slack/bolt` is
 * always Trivium's own copy, whose App gets its events from the gateway. A copy installed by the
 * app would open a socket of its own, and Slack would split the events between the two. The app's
 * TypeScript is compiled, and its imports are resolved as by the TypeScript compiler.
 */
export function registerAppHooks(entry: string, { compile }: ReturnType<typeof createCompiler>): void {
  const sources = createSourceResolver(entry)
  registerHooks({
    resolve(specifier, context, next) {
      if (context.parentURL !== HOSTED) {
        if (specifier === '@slack/bolt') return { url: HOSTED, shortCircuit: true }
        if (specifier.startsWith('@slack/bolt/')) return { url: ownUrlOf(specifier), shortCircuit: true }
      }
      const provided = Object.hasOwn(PROVIDED, specifier) ? PROVIDED[specifier] : undefined
      if (provided) return attempt(() => next(specifier, context)) ?? next(provided, context)
      const { parentURL } = context
      if (!isOfApp(parentURL)) return next(specifier, context)
      const mapped = sources.mapped(specifier)
      if (mapped) return next(mapped, context)
      try {
        return next(specifier, context)
      } catch (error) {
        const source = sources.relative(specifier, parentURL)
        if (!source) throw error
        return next(source, context)
      }
    },
    load(url, context, next) {
      const { format, importAttributes, conditions } = context
      if (isOfApp(url) && format === 'json' && !importAttributes?.type && conditions?.includes('import'))
        return { source: jsonModule(url), format: 'module', shortCircuit: true }
      if (!isOfApp(url) || !/\.[mc]?tsx?(\?|$)/.test(url)) return next(url, context)
      return { ...compile(url), shortCircuit: true }
    },
  })
}
