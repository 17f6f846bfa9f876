// Started by `holdfast run`, with a pipe to it. Never by hand.
import { guard } from '../dist/guardian.js'

guard()
