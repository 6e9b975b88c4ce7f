import { createRequire, registerHooks } from 'node:module'
import { extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { attempt } from '../../../../src/lib/attempt.ts'

const suffix = extname(import.meta.filename)
/** What every module of the app gets as `@slack/bolt`, wherever it lies. */
const HOSTED = new URL(`./hosted${suffix}`, import.meta.url).href
const ownRequire = createRequire(HOSTED)
const ownUrlOf = (specifier: string) => pathToFileURL(ownRequire.resolve(specifier)).href

/** Names that an app may import although its own project has not installed them. */
const PROVIDED: Record<string, string> = {
  trivium: new URL(`../../../../src/public${suffix}`, import.meta.url).href,
  zod: import.meta.resolve('zod'),
}

/**
 * Resolves imports of the app's thread: Bolt is Trivium's own copy, in which an App gets its events from the gateway. A copy that
 * the app has installed would open a socket of its own, and Slack would give each of the two half of the events.
 */
export function resolveForApps(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (context.parentURL !== HOSTED) {
        if (specifier === '@slack/bolt') return { url: HOSTED, shortCircuit: true }
        if (specifier.startsWith('@slack/bolt/')) return { url: ownUrlOf(specifier), shortCircuit: true }
      }
      const provided = Object.hasOwn(PROVIDED, specifier) ? PROVIDED[specifier] : undefined
      if (provided) return attempt(() => next(specifier, context)) ?? next(provided, context)
      const found = next(specifier, context)
      // TypeScript of an app is a module, whatever the package.json above it says.
      const isTypeScript = /\.ts(\?|$)/.test(found.url) && !found.url.includes('/node_modules/')
      return isTypeScript ? { ...found, format: 'module-typescript' } : found
    },
  })
}
