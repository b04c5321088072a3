// The chart library, with its style sheet: a file of its own in what is built.
import 'uplot/dist/uPlot.min.css';
import UPlot from 'uplot';

export const uPlot = UPlot;
