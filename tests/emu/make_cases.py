"""Writes the generated instruction cases (tests/emu/*.gen.test): python3 make_cases.py

Expected values come from the definitions in the PTX ISA through Python integers and reference.py.
"""
import make_cases_convert
import make_cases_float
import make_cases_integer

if __name__ == '__main__':
    make_cases_integer.main()
    make_cases_float.main()
    make_cases_convert.main()
