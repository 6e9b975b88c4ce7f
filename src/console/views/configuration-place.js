import { link } from '../lib/router.js'

/** The address of a line of a configuration file in the view Configuration. */
export function placeInFile({ file, line }) {
  return link('configuration', line === undefined ? {} : { file, line })
}
