import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { pathToFileURL } from 'node:url'
import { attempt } from '../../../../src/lib/attempt.ts'
import { packageVersion } from '../../../../src/lib/packages.ts'

const BOLT = '@slack/bolt'

/** Warns if the app brings another major version of Bolt than the one that it runs on. */
export function warnOfVersion(file: string, warn: (text: string) => void): void {
  const manifest = attempt(() => findPackageJSON(BOLT, pathToFileURL(file)))
  const theirs = manifest && attempt(() => String(JSON.parse(readFileSync(manifest, 'utf8')).version))
  const ours = packageVersion(BOLT)
  if (!theirs || !ours || majorOf(theirs) === majorOf(ours)) return
  warn(
    `it brings ${BOLT} ${theirs}, but runs on ${ours}: follow Bolt's migration guide to version ${majorOf(ours)}`,
  )
}

const majorOf = (version: string) => version.split('.')[0]
